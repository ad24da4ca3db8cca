import Store

/// A second factor that an account shall have.
package struct FactorSetting: Hashable, Sendable {
  package enum Proof: Hashable, Sendable {
    /// In E.164.
    case phoneNumber(String)
    case totp(secret: [UInt8])
  }

  /// The id of a factor to keep or to add. Empty: the server makes one.
  package var id: String
  /// Empty for a factor that is kept: its name stays.
  package var displayName: String
  /// nil: the account has the factor already.
  package var proof: Proof?

  package init(id: String = "", displayName: String = "", proof: Proof? = nil) {
    self.id = id
    self.displayName = displayName
    self.proof = proof
  }
}

/// Decision about SetSecondFactors (section 14): which factors stay, come and go.
struct FactorSettings {
  let policy: Policy
  let now: Timestamp
  let newID: () -> String
  /// Returns whether a TOTP factor has this secret.
  let hasSecret: (FactorRecord, [UInt8]) -> Bool
  let seal: ([UInt8], FactorRecord) -> [UInt8]

  struct Outcome: Hashable, Sendable {
    var edit: AccountEdit
    var added: [FactorRecord] = []
    var removed: [FactorRecord] = []

    var isChanged: Bool { !edit.dependent.isEmpty }
  }

  func decide(_ settings: [FactorSetting], _ state: AccountState) throws(Failure) -> Outcome {
    guard settings.count <= policy.factorsMax else {
      throw Failure(.secondFactorLimit, field: "factors", hint: "The limit is \(policy.factorsMax) factors.")
    }
    var outcome = Outcome(edit: AccountEdit(state))
    var kept: Set<String> = []
    var added: [FactorRecord] = []
    let named = Set(settings.map(\.id))
    for setting in settings {
      if let factor = try existing(setting, in: state, sparing: kept.union(named)) {
        guard kept.insert(factor.id).inserted else { throw .factorIsTwice }
        rename(factor, setting.displayName, &outcome.edit)
      } else {
        added.append(try made(setting, state))
      }
    }
    outcome.removed = state.factors.filter { $0.kind != .recoveryCode && !kept.contains($0.id) }
    for factor in outcome.removed { outcome.edit.withdraw(factor) }
    for factor in added {
      guard !outcome.edit.edited.factors.contains(where: { $0.id == factor.id }) else { throw .factorIsTwice }
      if let number = factor.phoneNumber, outcome.edit.edited.factors.contains(where: { $0.phoneNumber == number }) {
        throw .factorIsTwice
      }
      outcome.edit.enrol(factor)
    }
    outcome.added = added
    if !outcome.edit.edited.hasSecondFactor {
      let codes = outcome.edit.edited.factors
      outcome.removed += codes
      codes.forEach { outcome.edit.withdraw($0) }
    }
    if !added.isEmpty, let refusal = refusal(state) { throw refusal }
    if let refusal = EnrollmentDecision.lockOut(state, outcome.edit.state, policy: policy) { throw refusal }
    if !outcome.added.isEmpty || !outcome.removed.isEmpty {
      outcome.edit.edited.account.tokensValidAfter = max(state.account.tokensValidAfter ?? now, now)
    }
    return outcome
  }

  /// The conditions of an enrollment by the user, except those of their session.
  private func refusal(_ state: AccountState) -> Failure? {
    if state.account.anonymous {
      return Failure(.unsupportedFirstFactor, field: "account_id", hint: "The account is anonymous.")
    }
    guard state.account.emailVerified else {
      return Failure(.unverifiedEmail, field: "account_id", hint: "Verify the account's email address first.")
    }
    return nil
  }

  /// Returns the factor that a setting keeps; nil if it makes a new one.
  ///
  /// Several authenticator apps may have the same secret. Each setting without an id keeps another one of them.
  ///
  /// - Parameter taken: the ids of the factors that another setting keeps or names.
  private func existing(
    _ setting: FactorSetting, in state: AccountState, sparing taken: Set<String>
  ) throws(Failure) -> FactorRecord? {
    let named = state.factors.first { $0.id == setting.id && $0.kind != .recoveryCode }
    switch setting.proof {
    case nil:
      guard let named else {
        throw Failure(
          .secondFactorNotFound, field: "factors.factor_id",
          hint: "The account has no such factor. Set phone_number or totp_secret to add one.")
      }
      return named
    case .phoneNumber(let number):
      let holder = state.factors.first { $0.phoneNumber == number }
      guard let holder, setting.id.isEmpty || setting.id == holder.id else { return nil }
      return holder
    case .totp(let secret):
      if setting.id.isEmpty {
        return state.factors.first { $0.kind == .totp && !taken.contains($0.id) && hasSecret($0, secret) }
      }
      guard let named, named.kind == .totp, hasSecret(named, secret) else { return nil }
      return named
    }
  }

  private func made(_ setting: FactorSetting, _ state: AccountState) throws(Failure) -> FactorRecord {
    let id = setting.id.isEmpty ? newID() : setting.id
    // Another factor under the same id would take over its sealed content's name, and the meaning of earlier events.
    guard !state.factors.contains(where: { $0.id == id }) else {
      throw Failure(.secondFactorExists, field: "factors.factor_id", hint: "Another factor has this id.")
    }
    var factor = FactorRecord(
      id: id, accountID: state.account.id, kind: .phone, displayName: setting.displayName, enrolledAt: now)
    switch setting.proof {
    case .phoneNumber(let number):
      guard policy.textMessagesEnabled else { throw .noTextMessages }
      factor.phoneNumber = number
    case .totp(let secret):
      factor.kind = .totp
      factor.sealedSecret = seal(secret, factor)
    case nil: break
    }
    return factor
  }

  private func rename(_ factor: FactorRecord, _ name: String, _ edit: inout AccountEdit) {
    guard !name.isEmpty, name != factor.displayName,
      let index = edit.edited.factors.firstIndex(where: { $0.id == factor.id })
    else { return }
    edit.edited.factors[index].displayName = name
    edit.dependent.append(.factor(.update(edit.edited.factors[index])))
  }
}

extension Failure {
  fileprivate static let factorIsTwice = Failure(
    .secondFactorExists, field: "factors", hint: "Give each factor once, with an id and a number of its own.")
}
