import Store

extension AssertionDecision {
  /// Decides a sign-in by phone code or sign-in link, which verifies the number or email address (section 3.4).
  func byCode(_ facts: Facts) -> SignInDecision {
    let isPhone = providerID == SignInMethods.phone
    guard let owner = isPhone ? facts.phoneOwner : facts.emailOwner else {
      return refusalToCreate.map { .refuse($0) } ?? .open(create())
    }
    if owner.account.disabled { return .refuse(.userIsDisabled) }
    if !isPhone, isClaim(of: owner) { return claim(owner) }
    // An account with a second factor is never taken over and loses nothing: the factor protects it (section 3.3).
    if owner.wantsSecondFactor(passedFor: passedFor) { return .secondFactorRequired(owner) }
    if owner.hasSecondFactor { return signIn(owner) }
    if isPhone || owner.account.emailVerified { return signIn(owner) }
    return meetUnverified(owner)
  }

  /// Whether the call claims the email address of an account with a second factor.
  ///
  /// A claim moves nothing that the factor protects, so it needs no factor (`Takeover.claim`). It does not apply to an
  /// account that waits for its owner's first sign-in (S12): there the owner passes the factor.
  private func isClaim(of owner: AccountState) -> Bool {
    owner.hasSecondFactor && !owner.account.emailVerified && claimAddress && !existingOnly && mayClaim
      && !owner.isUnentered(policy)
  }

  /// Signs in to the account. Links and audits a sign-in method that is new to it, such as the first sign-in link to
  /// its verified email address.
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

  /// Decides for an account that never verified the email address: S12 (no user could sign in before), reclaim, else
  /// claim or conflict as in S6b.
  private func meetUnverified(_ owner: AccountState) -> SignInDecision {
    let ways = SignInMethods(owner, policy)
    if owner.isUnentered(policy) { return signIn(owner) }
    let takeover = Takeover(assertion: assertion, policy: policy, now: now)
    if owner.holdsOnlyAddress, policy.reclaim != .refuse { return .open(takeover.reclaim(owner)) }
    if claimAddress, !existingOnly, mayClaim { return claim(owner) }
    return .accountExists(
      Conflict(
        owner: owner, ways: ways, reason: ways.isEmpty && !mayClaim ? .askAdministrator : .none,
        canClaimAddress: mayClaim))
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
      state: AccountState(account: account), writes: [.account(.insert(account))], notes: [note], isNewAccount: true)
  }
}
