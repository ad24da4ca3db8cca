package import Store

/// A second factor that a call verified. The pending call may now proceed, once.
struct PassedFactor: Hashable, Sendable {
  /// The factor after the use of its TOTP step or code.
  var factor: FactorRecord
  /// The pending row of the call that required the factor.
  var row: PendingRecord
  /// The account as the decision saw it.
  var account: AccountRecord
  /// Writes that reset the count of wrong codes, and the event of a suspicious use.
  var writes: [Write]

  /// Returns the call's writes with those that use up the factor.
  ///
  /// They raise the account's version exactly once. Of two calls with the same code only the first commits. The other
  /// is decided again, and finds the code used.
  /// - Parameter sessionID: the new session; nil: the call ended in a conflict.
  func writes(after others: [Write], sessionID: String?, now: Timestamp) -> [Write] {
    let raises = others.contains { write in
      switch write {
      case .account(.update(let record)): record.id == account.id
      case .account(.raise(let id, _)): id == account.id
      default: false
      }
    }
    var writes = others
    if !raises { writes.append(.account(.raise(id: account.id, version: account.version))) }
    writes.append(.factor(.update(factor)))
    writes.append(
      .pending(.complete(
        row.digest, version: row.version, at: now, accountID: account.id, sessionID: sessionID ?? "")))
    return writes + self.writes
  }
}

// MARK: session methods

extension SessionRecord {
  package mutating func pass(_ factor: FactorRecord) {
    methods = firstFactorMethods
    // A passkey with user verification has stated both factors.
    let isStated = factor.kind == .passkey && beginning.verifiesUser
    if !isStated { methods += factor.kind.methods.filter { !methods.contains($0) } }
    secondFactor = factor.kind.rawValue
    secondFactorID = factor.id
  }

  /// The methods without those that the second factor added.
  var firstFactorMethods: [String] {
    guard let kind = secondFactor.flatMap(FactorKind.init(rawValue:)) else { return methods }
    if kind == .passkey, beginning.verifiesUser { return methods }
    // A phone adds the same value as a first and as a second factor. A passkey that verified the user stated `mfa`.
    let added = kind.methods.filter { value in
      !(value == "sms" && beginning == .phone) && !(value == "mfa" && beginning.verifiesUser)
    }
    return methods.filter { !added.contains($0) }
  }
}

extension AccountState {
  /// Returns the factor that a session passed. nil: none, or the factor was withdrawn (check 98).
  package func passedFactor(of session: SessionRecord) -> FactorRecord? {
    session.secondFactorID.flatMap { id in factors.first { $0.id == id } ?? passkeyFactor(id, of: session) }
  }

  /// Returns a passkey of the account that passed both factors of a session.
  private func passkeyFactor(_ id: String, of session: SessionRecord) -> FactorRecord? {
    guard session.secondFactor == FactorKind.passkey.rawValue,
      let passkey = passkeys.first(where: { $0.key.subject == id })
    else { return nil }
    return FactorRecord(passing: passkey)
  }

  /// Returns the second factors that may follow a first factor.
  ///
  /// A phone code may not follow a phone code: an attacker who took over the number would receive both (check 89).
  func factorsToOffer(behind first: FirstFactor) -> [FactorRecord] {
    if first == .phone { return factorsToOffer.filter { $0.kind != .phone } }
    // Two passkeys may be in one authenticator.
    let isPasskey = first.signInProviderID == SignInMethods.passkey
    return isPasskey ? factorsToOffer.filter { $0.kind != .passkey } : factorsToOffer
  }

  /// The second factors in order of enrolment, recovery codes last.
  package var factorsToOffer: [FactorRecord] {
    factors.filter { $0.kind != .recoveryCode } + factors.filter { $0.kind == .recoveryCode }
  }

  func wantsSecondFactor(passedFor accountID: String?) -> Bool { hasSecondFactor && account.id != accountID }

  /// Whether a passkey signs in at a configured relying party. If passkeys are the only second factors, a passkey must
  /// pass both factors, which takes a verification of the user that counts (P11).
  func hasUsablePasskey(_ policy: Policy) -> Bool {
    let mustVerify = refusal(ofFirstFactor: SignInMethods.passkey) != nil
    return passkeys.contains { passkey in
      policy.relyingPartyIDs.contains(passkey.username) && (!mustVerify || Passkey(of: passkey)?.userVerified == true)
    }
  }

  /// Rejects a phone as the first factor if all second factors are phones: one phone is not two factors (section 3.4,
  /// check 89).
  func refusal(ofFirstFactor providerID: String) -> Failure? {
    let isOnly =
      switch providerID {
      case SignInMethods.phone: hasOnlyPhoneFactors
      case SignInMethods.passkey: hasSecondFactor && factors.allSatisfy { [.passkey, .recoveryCode].contains($0.kind) }
      default: false
      }
    guard isOnly else { return nil }
    return Failure(.unsupportedFirstFactor, hint: "Use a sign-in method other than \(providerID).")
  }
}
