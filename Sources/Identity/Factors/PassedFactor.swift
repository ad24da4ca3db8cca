package import Store

/// A second factor that a call has shown. What the first factor held back may be done now, and once.
struct PassedFactor: Hashable, Sendable {
  /// As it is from now on: its step, or its code, is used.
  var factor: FactorRecord
  /// The row of the call that asked for it.
  var row: PendingRecord
  /// The account as the decision saw it.
  var account: AccountRecord
  /// What forgets the wrong codes before it.
  var resets: [Write]

  /// What the acceptance writes beside what it allows. The account's version rises exactly once, so that of two calls
  /// with one code only the first is carried out: the other is decided again, and finds the code used.
  /// - Parameter sessionID: nil: the call ended in a conflict instead of a session.
  func writes(after others: [Write], sessionID: String?, now: Timestamp) -> [Write] {
    let raises = others.contains { write in
      switch write {
      case .updateAccount(let record): record.id == account.id
      case .guardAccount(let id, _): id == account.id
      default: false
      }
    }
    var writes = others
    if !raises { writes.append(.guardAccount(id: account.id, version: account.version)) }
    writes.append(.updateFactor(factor))
    writes.append(
      .completePending(
        row.digest, version: row.version, at: now, accountID: account.id, sessionID: sessionID ?? ""))
    return writes + resets
  }
}

// MARK: what a session says of it

extension FactorKind {
  /// What stands in `amr` (RFC 8176; a recovery code has no name there).
  var methods: [String] {
    switch self {
    case .totp: ["otp", "mfa"]
    case .phone: ["sms", "mfa"]
    case .recoveryCode: ["recovery_code", "mfa"]
    }
  }
}

extension SessionRecord {
  package mutating func pass(_ factor: FactorRecord) {
    methods = firstFactorMethods
    methods += factor.kind.methods.filter { !methods.contains($0) }
    secondFactor = factor.kind.rawValue
    secondFactorID = factor.id
  }

  /// Without what the second factor added.
  var firstFactorMethods: [String] {
    guard let kind = secondFactor.flatMap(FactorKind.init(rawValue:)) else { return methods }
    // A telephone as the first factor says the same as one as the second.
    let added = kind.methods.filter { $0 != "sms" || beginning != .phone }
    return methods.filter { !added.contains($0) }
  }
}

extension AccountState {
  /// The factor that a session showed, while the account has it: one that was withdrawn counts no longer (check 98).
  package func passedFactor(of session: SessionRecord) -> FactorRecord? {
    session.secondFactorID.flatMap { id in factors.first { $0.id == id } }
  }

  /// What may follow that first factor: behind a code to a telephone no other one, since whoever has taken the number
  /// over gets both (check 89).
  func factorsToOffer(behind first: FirstFactor) -> [FactorRecord] {
    first == .phone ? factorsToOffer.filter { $0.kind != .phone } : factorsToOffer
  }

  /// In the order they were enrolled, recovery codes last.
  package var factorsToOffer: [FactorRecord] {
    factors.filter { $0.kind != .recoveryCode } + factors.filter { $0.kind == .recoveryCode }
  }

  func wantsSecondFactor(passedFor accountID: String?) -> Bool { hasSecondFactor && account.id != accountID }

  /// 3.4: one telephone is not two factors (check 89).
  func refusal(ofFirstFactor providerID: String) -> Failure? {
    guard providerID == WaysIn.phone, hasOnlyPhoneFactors else { return nil }
    return Failure(.unsupportedFirstFactor, hint: "Sign in with something else than a telephone.")
  }
}
