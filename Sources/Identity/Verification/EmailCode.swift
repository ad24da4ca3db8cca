import Sealed
import Store

/// The call that a code of six digits by email serves.
package enum EmailCodePurpose: Int32, Sendable, CaseIterable {
  case signIn = 1
  case link
  case reauthenticate
  case signUp
  case verifyEmail
  case resetPassword
  case changeEmail

  /// Whether the code belongs to a session. No other session can use it.
  package var needsSession: Bool {
    switch self {
    case .signIn, .signUp, .resetPassword: false
    case .link, .reauthenticate, .verifyEmail, .changeEmail: true
    }
  }

  /// Whether the code goes to the address that the account has.
  package var isForOwnAddress: Bool { self == .reauthenticate || self == .verifyEmail }

  /// The purpose of a link in the same email.
  var linkPurpose: PendingPurpose {
    switch self {
    case .signIn, .link, .reauthenticate: .emailLink
    case .signUp: .signUp
    case .verifyEmail: .verifyEmail
    case .resetPassword: .resetPassword
    case .changeEmail: .changeEmail
    }
  }

  /// The key that finds the code when the next one is requested. It has the purpose, because codes of all purposes are
  /// rows of one kind.
  func codeKey(email: String, accountID: String) -> IdentityKey {
    IdentityKey(providerID: "emailCode.\(rawValue)", subject: needsSession ? accountID : email)
  }

  /// Whether a row is that of a code for this purpose.
  func isOf(_ row: PendingRecord) -> Bool {
    row.purpose == .emailCode && row.identity.providerID == codeKey(email: "", accountID: "").providerID
  }

  /// The key of a link in the same email.
  func linkKey(email: String, accountID: String) -> IdentityKey {
    self == .changeEmail ? .addressOf(accountID) : .mail(email)
  }

  var mail: OutgoingMessage.Kind {
    switch self {
    case .signIn, .link, .reauthenticate: .emailCode
    case .signUp: .signUpCode
    case .verifyEmail: .verifyEmailCode
    case .resetPassword: .resetPasswordCode
    case .changeEmail: .changeEmailCode
    }
  }
}

/// Six digits from an email, with the id of the call that sent them.
package struct EmailDigits: Hashable, Sendable {
  package var verificationID: String
  package var digits: String
  /// The field of the request that has the digits.
  package var field: String

  package init(verificationID: String, digits: String, field: String = "credential.email_code.code") {
    self.verificationID = verificationID
    self.digits = digits
    self.field = field
  }
}

/// What a call redeems from an email: the code of a link, or six digits.
package enum EmailProof: Hashable, Sendable {
  case link(code: String)
  case digits(EmailDigits)

  /// - Parameter verificationID: empty for the code of a link.
  package init(code: String, verificationID: String) {
    self =
      verificationID.isEmpty
      ? .link(code: code) : .digits(EmailDigits(verificationID: verificationID, digits: code, field: "code"))
  }
}

extension Environment {
  /// Returns the row key of an emailed code.
  func digest(of proof: EmailProof) throws(Failure) -> Digest {
    switch proof {
    case .link(let code): try codeDigest(code, .emailLink, field: "code")
    case .digits(let digits): try codeDigest(digits.verificationID, .emailCode, field: "code")
    }
  }

  /// Verifies six digits, and counts wrong ones. Returns nil for the code of a link, which no attacker can guess.
  func prove(_ proof: EmailProof, for use: CodeUse, _ call: CallFacts) async throws -> VerifiedCode? {
    guard case .digits(let digits) = proof else { return nil }
    return try await prove(.emailCode(digits), for: use, call)
  }

  /// Opens the row of an emailed code. Digits were verified before.
  func open(
    _ proof: EmailProof, _ record: PendingRecord?, _ purposes: Set<PendingPurpose>, _ call: CallFacts, _ now: Timestamp
  ) throws(Failure) -> OpenedCode {
    switch proof {
    case .link: try openCode(record, purposes, isBound: false, field: "code", call: call, now: now)
    case .digits: try openCode(record, [.emailCode], field: "code", call: call, now: now)
    }
  }

  /// Returns the record under the idempotency key of a call with digits, which an attacker could guess.
  func recorded(_ call: CallFacts, _ digits: EmailDigits) async throws -> IdempotencyRecord? {
    try await recorded(call, throttle(.codeFailures, of: digits.verificationID, call: call))
  }

  func recorded(_ call: CallFacts, _ proof: EmailProof) async throws -> IdempotencyRecord? {
    switch proof {
    case .link: try await recorded(call)
    case .digits(let digits): try await recorded(call, digits)
    }
  }
}

// MARK: sealed form

extension EmailCodePurpose {
  init?(_ message: Sealed.EmailCodePurpose?) { self.init(rawValue: message?.rawValue ?? 0) }

  var message: Sealed.EmailCodePurpose? { Sealed.EmailCodePurpose(rawValue: rawValue) }
}
