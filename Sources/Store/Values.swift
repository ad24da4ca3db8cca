/// A point in time, in milliseconds since 1970-01-01T00:00:00Z.
package struct Timestamp: Hashable, Comparable, Sendable {
  package var millis: Int64

  package init(millis: Int64) { self.millis = millis }

  package var seconds: Int64 { millis / 1000 }

  /// This time as a token states it, in whole seconds.
  package var wholeSeconds: Timestamp { Timestamp(millis: seconds * 1000) }

  package static func < (left: Timestamp, right: Timestamp) -> Bool { left.millis < right.millis }

  /// The largest accepted difference between the clocks of two replicas.
  package static let clockSkewMillis: Int64 = 60_000

  /// Returns whether only a clock that ran ahead can have written this time. Such a time lies further after `now` than
  /// the clocks of replicas may differ.
  package func isAhead(of now: Timestamp) -> Bool { self > now.adding(millis: Timestamp.clockSkewMillis) }

  package func adding(millis delta: Int64) -> Timestamp { Timestamp(millis: millis + delta) }
}

/// A SHA-256 or HMAC-SHA-256 value, stored in place of a secret.
package struct Digest: Hashable, Sendable {
  package let bytes: [UInt8]

  package init(_ bytes: [UInt8]) {
    precondition(bytes.count == 32, "a digest has 32 bytes")
    self.bytes = bytes
  }
}

/// A user's immutable id at one provider. Unique over all accounts.
package struct IdentityKey: Hashable, Sendable {
  package var providerID: String
  package var subject: String

  package init(providerID: String, subject: String) {
    self.providerID = providerID
    self.subject = subject
  }
}

/// The trust in an asserted email address. Configuration decides it, never the assertion alone.
package enum TrustTier: Int, Comparable, Sendable, CaseIterable {
  /// Anything else.
  case unverified = 0
  /// The provider checked the address.
  case verified = 1
  /// The provider runs the mailbox's domain.
  case authoritative = 2

  package static func < (left: TrustTier, right: TrustTier) -> Bool { left.rawValue < right.rawValue }
}

/// The calling service, as its certificate or API key names it.
package struct CallerName: Hashable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }
}

/// The content of a verified credential. A pending row holds it sealed. It never includes the provider's own tokens.
package struct Assertion: Hashable, Sendable {
  package var identity: IdentityKey
  /// Normalised; nil where the provider gave none.
  package var email: String?
  package var tier: TrustTier
  package var displayName: String
  package var photoURL: String
  package var username: String
  /// The provider's profile document as received, at most 16 KiB.
  package var profileJSON: String
  /// The passkey after this use or registration, as `IdentityRecord.passkey`.
  package var passkey: [UInt8]?
  /// By what the provider identified the user at the application's former team. Empty: none.
  package var transferSubject: String

  package init(
    identity: IdentityKey, email: String? = nil, tier: TrustTier = .unverified, displayName: String = "",
    photoURL: String = "", username: String = "", profileJSON: String = "", passkey: [UInt8]? = nil,
    transferSubject: String = ""
  ) {
    self.identity = identity
    self.email = email
    self.tier = tier
    self.displayName = displayName
    self.photoURL = photoURL
    self.username = username
    self.profileJSON = profileJSON
    self.passkey = passkey
    self.transferSubject = transferSubject
  }
}
