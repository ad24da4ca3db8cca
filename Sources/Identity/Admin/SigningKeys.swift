package import Store

/// Administration of the keys that sign tokens. All functions throw `Failure`.
package protocol SigningKeyAdministration: Sendable {
  func list() async throws -> [SigningKeyStatus]
  /// Publishes a new key, unless one waits already.
  func rotate(_ call: CallFacts) async throws -> RotatedSigningKeys
  /// Removes a key, and has a successor sign if it signs. Throws `.signingKeyNotFound` if there is no such key.
  func revoke(keyID: String, _ call: CallFacts) async throws -> RevokedSigningKey
}

/// A signing key as administrators see it.
package struct SigningKeyStatus: Hashable, Sendable {
  package enum State: Hashable, Sendable, CaseIterable {
    /// Published, and signs later.
    case waiting
    case signing
    /// Signs no longer, and still verifies.
    case retired
    /// Sealed by a master key that this server does not have.
    case unusable
  }

  package var keyID: String
  package var algorithm: String
  package var state: State
  package var publishedAt: Timestamp
  package var activeFrom: Timestamp
  package var retiredAt: Timestamp?
  /// Time since `activeFrom`; nil before.
  package var ageMillis: Int64?

  package init(
    keyID: String, algorithm: String, state: State, publishedAt: Timestamp, activeFrom: Timestamp,
    retiredAt: Timestamp?, ageMillis: Int64?
  ) {
    self.keyID = keyID
    self.algorithm = algorithm
    self.state = state
    self.publishedAt = publishedAt
    self.activeFrom = activeFrom
    self.retiredAt = retiredAt
    self.ageMillis = ageMillis
  }
}

package struct RotatedSigningKeys: Hashable, Sendable {
  package var keys: [SigningKeyStatus]
  /// The key that the call published; nil if one waited already.
  package var newKeyID: String?

  package init(keys: [SigningKeyStatus], newKeyID: String?) {
    self.keys = keys
    self.newKeyID = newKeyID
  }
}

package struct RevokedSigningKey: Hashable, Sendable {
  package var keys: [SigningKeyStatus]
  /// The key that takes over because of the call; nil if none has to.
  package var successorKeyID: String?
  /// When every server rejects tokens of the key.
  package var serversRejectAt: Timestamp
  /// When every verifier does that caches the key set as long as it may.
  package var verifiersRejectAt: Timestamp

  package init(
    keys: [SigningKeyStatus], successorKeyID: String?, serversRejectAt: Timestamp, verifiersRejectAt: Timestamp
  ) {
    self.keys = keys
    self.successorKeyID = successorKeyID
    self.serversRejectAt = serversRejectAt
    self.verifiersRejectAt = verifiersRejectAt
  }
}

/// Writes the events about signing keys, which belong to no account.
package struct SigningKeyEvents: Sendable {
  private let ids: Ids

  package init(_ randomness: any Randomness) { ids = Ids(randomness: randomness) }

  /// - Parameter call: nil: no administrator requested the rotation.
  package func rotated(to keyID: String, signsFrom: Timestamp, call: CallFacts?, now: Timestamp) -> Write {
    row(.signingKeyRotated, ["key_id": keyID, "signs_from_millis": "\(signsFrom.millis)"], call, now)
  }

  package func revoked(_ keyID: String, successorKeyID: String?, call: CallFacts, now: Timestamp) -> Write {
    var details = ["key_id": keyID]
    details["successor_key_id"] = successorKeyID
    return row(.signingKeyRevoked, details, call, now)
  }

  private func row(_ event: AuditEvent, _ details: [String: String], _ call: CallFacts?, _ now: Timestamp) -> Write {
    let note = AuditNote(event, accountID: "", details: details)
    let json = call.map { AuditJSON.object(inOrder: note.members(of: $0)) } ?? AuditJSON.object(details)
    return .record(.appendAudit(
      AuditRecord(
        id: ids.audit(at: now), at: now, accountID: "", event: event.rawValue,
        caller: call?.caller ?? RemoveIdleAccounts.caller, detailsJSON: json)))
  }
}
