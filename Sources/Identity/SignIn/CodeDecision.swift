import Store

/// Section 3.4, rows phone code and e-mail link: the number or address is proved by this very call.
struct CodeDecision: Sendable {
  var assertion: Assertion
  var existingOnly = false
  var claimAddress = false
  /// The account whose second factor this call has shown.
  var passedFor: String?
  var policy: Policy
  var now: Timestamp
  /// Asked for a fresh id where an account is created.
  var newAccountID: @Sendable () -> String

  private var providerID: String { assertion.identity.providerID }

  func decide(_ facts: Facts) -> SignInDecision {
    let isPhone = providerID == WaysIn.phone
    guard let owner = isPhone ? facts.phoneOwner : facts.emailOwner else {
      return existingOnly ? .refuse(.noAccountYet) : .open(create())
    }
    if owner.account.disabled { return .refuse(.userIsDisabled) }
    if !isPhone, isClaim(of: owner) { return claim(owner) }
    // An account with a factor is never taken over, nor does it lose anything: the factor guards it (section 3.3).
    if owner.wantsSecondFactor(passedFor: passedFor) { return .secondFactorRequired(owner) }
    if owner.hasSecondFactor { return signIn(owner) }
    if isPhone || owner.account.emailProved { return signIn(owner) }
    return meetUnproved(owner)
  }

  /// Past a second factor: a claim moves nothing that it guards, and asks for none (`Takeover.claim`). Not from an
  /// account that waits for the address's owner to come in for the first time (S12), who shows the factor.
  private func isClaim(of owner: AccountState) -> Bool {
    owner.hasSecondFactor && !owner.account.emailProved && claimAddress && !existingOnly && !owner.isUnentered(policy)
  }

  /// A way in that is new to the account, such as a first link to its proved address, is noted as one.
  private func signIn(_ owner: AccountState) -> SignInDecision {
    var edit = AccountEdit(owner)
    var notes: [AuditNote] = []
    if !owner.holds(assertion.identity) {
      edit.link(assertion, policy: policy, now: now)
      notes.append(.linked(providerID, to: owner.account.id, proof: "code"))
    }
    edit.noteSignIn(at: now, upgradedHash: nil)
    return .open(Opening(state: edit.state, writes: edit.signInWrites, notes: notes))
  }

  /// Reclaim; S12, for nobody could sign in before; else claim or conflict, as in S6b.
  private func meetUnproved(_ owner: AccountState) -> SignInDecision {
    let ways = WaysIn(owner, policy)
    if owner.isUnentered(policy) { return signIn(owner) }
    let takeover = Takeover(assertion: assertion, policy: policy, now: now)
    if owner.holdsOnlyAddress, policy.reclaim != .refuse { return .open(takeover.reclaim(owner)) }
    if claimAddress, !existingOnly { return claim(owner) }
    return .accountExists(Conflict(owner: owner, ways: ways, canClaimAddress: true))
  }

  private func claim(_ owner: AccountState) -> SignInDecision {
    .open(Takeover(assertion: assertion, policy: policy, now: now).claim(from: owner, opening: create()))
  }

  private func create() -> Opening {
    var edit = AccountEdit(AccountState(account: AccountRecord(id: newAccountID(), createdAt: now)))
    edit.link(assertion, policy: policy, now: now)
    edit.noteSignIn(at: now, upgradedHash: nil)
    let account = edit.edited.account
    let note = AuditNote(.accountCreated, accountID: account.id, details: ["provider_id": providerID])
    return Opening(
      state: AccountState(account: account), writes: [.insertAccount(account)], notes: [note], isNewAccount: true)
  }
}
