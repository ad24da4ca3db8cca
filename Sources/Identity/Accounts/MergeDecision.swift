import Store

/// One of the two accounts of a merge.
package enum MergeSide: Hashable, Sendable, CaseIterable {
  case survivor
  case other

  /// Request field with the account's ID token.
  var tokenField: String {
    switch self {
    case .survivor: "survivor_id_token"
    case .other: "other_id_token"
    }
  }
}

/// A value that both accounts have and only one can keep.
package struct MergeConflict: Hashable, Sendable {
  /// `password`, `phone`, `second_factors`, or a provider id.
  package var field: String
  package var survivorValue: String
  package var otherValue: String

  package init(field: String, survivorValue: String, otherValue: String) {
    self.field = field
    self.survivorValue = survivorValue
    self.otherValue = otherValue
  }
}

/// The caller's choice for one conflict.
package struct MergeKeep: Hashable, Sendable {
  package var field: String
  package var accountID: String

  package init(field: String, accountID: String) {
    self.field = field
    self.accountID = accountID
  }
}

/// Outcome of a merge: the survivor after it, if no conflict is open.
struct MergePlan: Hashable, Sendable {
  static let secondFactors = "second_factors"

  var edit: AccountEdit
  /// Conflicts that the caller has not settled.
  var conflicts: [MergeConflict] = []
  var movedProviderIDs: [String] = []
  /// Factors of the other account, with a new enrolment time.
  var movedFactors: [FactorRecord] = []
  /// Sign-in methods of the survivor that those of the other account replace.
  var replacedProviderIDs: [String] = []
  private let survivor: AccountState
  private let other: AccountState
  private var keep: [String: MergeSide]
}

/// Decision about a merge (section 4, "Merge").
enum MergeDecision: Hashable, Sendable {
  case refuse(Failure)
  case merge(MergePlan)

  static func decide(
    survivor: CallerSession, other: CallerSession, keep: [MergeKeep], policy: Policy, now: Timestamp
  ) -> MergeDecision {
    do {
      try requireProof(survivor, .survivor, policy: policy, now: now)
      try requireProof(other, .other, policy: policy, now: now)
      let plan = try MergePlan(survivor.state, other.state, keep: keep, policy: policy, now: now)
      if let failure = plan.lockOut(policy) { return .refuse(failure) }
      return .merge(plan)
    } catch {
      return .refuse(error)
    }
  }

  /// Requires a recent login and the second factor for an account (check 30). The field of the failure names the
  /// account.
  ///
  /// An anonymous user cannot log in again, so needs no recent login (check 91).
  static func requireProof(
    _ caller: CallerSession, _ side: MergeSide, policy: Policy, now: Timestamp
  ) throws(Failure) {
    do {
      if !caller.state.account.anonymous {
        try SessionCheck.requireRecentLogin(caller, for: .merge, policy: policy, now: now)
      }
      try SessionCheck.requireSecondFactor(caller)
    } catch {
      throw error.of(side)
    }
  }
}

extension Failure {
  func of(_ side: MergeSide) -> Failure {
    var failure = self
    failure.field = side.tokenField
    return failure
  }
}

// MARK: what moves

/// Rules for what moves.
///
/// A moved sign-in method dates from the time of the merge. What was pending or changed before is decided by what the
/// survivor had then. A replaced password does not come back. Reverting a change of email address removes what an
/// attacker brought from an account of their own.
extension MergePlan {
  init(
    _ survivor: AccountState, _ other: AccountState, keep: [MergeKeep], policy: Policy, now: Timestamp
  ) throws(Failure) {
    edit = AccountEdit(survivor)
    self.survivor = survivor
    self.other = other
    self.keep = [:]
    for each in keep {
      let side: MergeSide = switch each.accountID {
      case survivor.account.id: .survivor
      case other.account.id: .other
      default: throw MergePlan.unknown("Use the id of one of the two accounts.", "from_account_id")
      }
      guard self.keep.updateValue(side, forKey: each.field) == nil else {
        throw MergePlan.unknown("Settle each conflict only once.", "field")
      }
    }
    moveAddress()
    movePassword(now: now)
    movePhone(now: now)
    moveIdentities(max: policy.identitiesPerProviderMax, now: now)
    movePasskeys(max: policy.passkeysPerAccountMax, now: now)
    moveFactors(max: policy.factorsMax, now: now)
    fillProfile()
    guard self.keep.isEmpty else { throw MergePlan.unknown("Remove this entry: there is no such conflict.", "field") }
  }

  private static func unknown(_ hint: String, _ field: String) -> Failure {
    Failure(.invalidField, field: "keep.\(field)", hint: hint)
  }

  /// Returns whether the survivor takes the other account's value. While a conflict is open, the value stays where it
  /// is.
  private mutating func takes(_ field: String, _ mine: String?, _ theirs: String?) -> Bool {
    guard let theirs else { return false }
    guard let mine else { return true }
    switch keep.removeValue(forKey: field) {
    case .survivor: return false
    case .other: return true
    case nil:
      conflicts.append(MergeConflict(field: field, survivorValue: mine, otherValue: theirs))
      return false
    }
  }

  private mutating func note(moved providerID: String, replacing isReplaced: Bool) {
    movedProviderIDs.append(providerID)
    if isReplaced { replacedProviderIDs.append(providerID) }
  }

  private mutating func moveAddress() {
    // This call verifies both accounts, so a later password reset must not treat their data as planted by an attacker.
    edit.edited.account.emailVerifiedAt = nil
    let from = other.account
    guard edit.edited.account.email == nil, from.emailVerified else { return }
    edit.edited.account.emailAddress = from.emailAddress
    if from.emailLink, !edit.edited.account.emailLink {
      edit.edited.account.emailLink = true
      note(moved: SignInMethods.emailLink, replacing: false)
    }
  }

  /// Moves the password if the survivor has an email address: its own, or the one that has just moved.
  private mutating func movePassword(now: Timestamp) {
    let (mine, theirs) = (survivor.account, other.account)
    guard theirs.passwordHash != nil, edit.edited.account.email != nil else { return }
    let field = SignInMethods.password
    guard takes(field, mine.passwordHash.map { _ in mine.email ?? "" }, theirs.email ?? "") else { return }
    edit.edited.account.passwordHash = theirs.passwordHash
    edit.edited.account.passwordSetAt = now
    note(moved: field, replacing: mine.passwordHash != nil)
  }

  private mutating func movePhone(now: Timestamp) {
    let mine = survivor.account.phoneNumber
    guard takes(SignInMethods.phone, mine, other.account.phoneNumber) else { return }
    edit.edited.account.phoneNumber = other.account.phoneNumber
    edit.edited.account.phoneNumberSetAt = now
    note(moved: SignInMethods.phone, replacing: mine != nil)
  }

  private mutating func fillProfile() {
    let from = other.account
    if edit.edited.account.displayName.isEmpty { edit.edited.account.displayName = from.displayName }
    if edit.edited.account.photoURL.isEmpty { edit.edited.account.photoURL = from.photoURL }
    edit.edited.account.anonymous = survivor.account.anonymous && from.anonymous
  }

  /// Returns a failure if the merge leaves the user without a sign-in method.
  ///
  /// An example is a password with an unverified email address, which an account without an address cannot take.
  fileprivate func lockOut(_ policy: Policy) -> Failure? {
    let hadMethod = !SignInMethods(other, policy).isEmpty || other.account.customToken
    guard hadMethod, !edit.state.account.customToken, SignInMethods(edit.state, policy).isEmpty else { return nil }
    return Failure(
      .lastSignInMethod, field: MergeSide.survivor.tokenField,
      hint: "The survivor would have no sign-in method. Merge in the other direction.")
  }
}

// MARK: identities and factors

extension MergePlan {
  /// - Parameter most: number of identities of one provider that the survivor may have.
  private mutating func moveIdentities(max most: Int, now: Timestamp) {
    var seen: Set<String> = []
    let providers = other.identities.map(\.key.providerID).filter { $0 != SignInMethods.passkey }
    for providerID in providers where seen.insert(providerID).inserted {
      let mine = survivor.identity(of: providerID)
      let theirs = other.identities.filter { $0.key.providerID == providerID }
      let mineCount = survivor.identities.count { $0.key.providerID == providerID }
      if mine != nil, mineCount + theirs.count <= most {
        for identity in theirs { take(identity, now: now) }
        note(moved: providerID, replacing: false)
      } else if takes(providerID, mine?.key.subject, theirs.first?.key.subject) {
        for identity in survivor.identities where identity.key.providerID == providerID {
          edit.dependent.append(.identity(.delete(identity.key, accountID: survivor.account.id)))
          remember(unlinkOf: identity.key, now: now)
        }
        edit.edited.identities.removeAll { $0.key.providerID == providerID }
        for identity in theirs { take(identity, now: now) }
        note(moved: providerID, replacing: mine != nil)
      } else {
        for identity in theirs { remember(unlinkOf: identity.key, now: now) }
      }
    }
    for unlink in other.unlinks where !edit.edited.holds(unlink.key) { remember(unlinkOf: unlink.key, now: unlink.at) }
    edit.edited.identities.sort { $0.linkedAt < $1.linkedAt }
  }

  /// Moves the passkeys, next to those of the survivor. They keep their user handles, with which authenticators know
  /// them.
  private mutating func movePasskeys(max: Int, now: Timestamp) {
    let (mine, theirs) = (survivor.passkeys, other.passkeys)
    guard !theirs.isEmpty else { return }
    let isTooMany = mine.count + theirs.count > max
    if isTooMany {
      let (count, others) = (mine.isEmpty ? nil : String(mine.count), String(theirs.count))
      guard takes(SignInMethods.passkey, count, others) else { return }
      for passkey in mine { edit.remove(passkey: passkey) }
    }
    for passkey in theirs { take(passkey, now: now) }
    edit.edited.identities.sort { $0.linkedAt < $1.linkedAt }
    note(moved: SignInMethods.passkey, replacing: isTooMany && !mine.isEmpty)
  }

  private mutating func take(_ identity: IdentityRecord, now: Timestamp) {
    var identity = identity
    identity.accountID = survivor.account.id
    identity.linkedAt = now
    edit.edited.identities.append(identity)
    edit.dependent.append(.identity(.insert(identity)))
    if edit.edited.unlinks.contains(where: { $0.key == identity.key }) {
      edit.edited.unlinks.removeAll { $0.key == identity.key }
      edit.dependent.append(.unlink(.forget(accountID: identity.accountID, identity.key)))
    }
  }

  /// Records an unlink, so that `auto_link` does not restore what the user gave up.
  private mutating func remember(unlinkOf key: IdentityKey, now: Timestamp) {
    let unlink = UnlinkRecord(accountID: survivor.account.id, key: key, at: now)
    edit.edited.unlinks.removeAll { $0.key == key }
    edit.edited.unlinks.append(unlink)
    edit.dependent.append(.unlink(.remember(unlink)))
  }

  /// Moves the second factors. Recovery codes do not count towards the limit. The codes of the account whose factors
  /// stay are kept.
  private mutating func moveFactors(max: Int, now: Timestamp) {
    let (mine, theirs) = (survivor.factors.countable, other.factors.countable)
    guard !theirs.isEmpty else { return }
    var comeOver = other.factors
    if mine.count + theirs.count > max {
      let field = MergePlan.secondFactors
      guard takes(field, mine.isEmpty ? nil : String(mine.count), String(theirs.count)) else { return }
      for factor in survivor.factors {
        edit.dependent.append(.factor(.delete(id: factor.id, accountID: factor.accountID)))
      }
      edit.edited.factors = []
    } else if survivor.factors.count > mine.count {
      comeOver = theirs
    }
    movedFactors = comeOver.map { factor in
      var factor = factor
      factor.enrolledAt = now
      return factor
    }
    edit.edited.factors += movedFactors.map { factor in
      var factor = factor
      factor.accountID = survivor.account.id
      return factor
    }
    edit.edited.factors.sort { $0.enrolledAt < $1.enrolledAt }
  }
}

extension [FactorRecord] {
  fileprivate var countable: [FactorRecord] { filter { $0.kind != .recoveryCode } }
}
