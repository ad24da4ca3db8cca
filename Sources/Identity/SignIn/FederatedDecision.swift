import Store

extension AssertionDecision {
  /// Decides on a provider's assertion against the existing accounts (rows S1 to S12).
  ///
  /// The first match decides:
  /// - known identity: S10, S11, S1
  /// - identity of the application's former team: S10, S11, X6
  /// - no email address to compare, or an unused one: S9, else create
  /// - email address of an account: S8, S12, S10, then S5 to S7, with S11 before any write to that account
  func federated(_ facts: Facts) -> SignInDecision {
    if facts.tokenSpent { return .refuse(.tokenWasSpent) }
    if let owner = facts.identityOwner { return signIn(owner, emailOwner: facts.emailOwner) }
    if let owner = facts.transferOwner { return transfer(owner, emailOwner: facts.emailOwner) }
    if policy.oneAccountPerEmail, assertion.email != nil, let owner = facts.emailOwner { return meet(owner) }
    return refusalToCreate.map { .refuse($0) } ?? .open(create())
  }

  /// The failure of a new account with this assertion (S9, and the rules for sign-up); nil: there may be one.
  var refusalToCreate: Failure? {
    if existingOnly { return .noAccountYet }
    let isCopied = policy.oneAccountPerEmail || providerID == SignInMethods.emailLink
    return policy.refusalToCreate(email: isCopied ? assertion.email : nil)
  }

  /// Whether a claim may create an account for the address.
  var mayClaim: Bool { policy.refusalToCreate(email: assertion.email) == nil }

  /// Signs in to the account that has the identity (S10, S11, S1).
  private func signIn(_ known: AccountState, emailOwner: AccountState?) -> SignInDecision {
    if known.account.disabled { return .refuse(.userIsDisabled) }
    if known.wantsSecondFactor(passedFor: verifiesUser ? known.account.id : passedFor) {
      return .secondFactorRequired(known)
    }
    var edit = AccountEdit(known)
    let news = known.identities.first { $0.key == assertion.identity }?.email != assertion.email
    edit.refresh(assertion, factorPassed: passedFor == known.account.id)
    let notes = bring(address: emailOwner, to: &edit, news: news)
    edit.noteSignIn(at: now, upgradedHash: nil)
    return .open(Opening(state: edit.state, writes: edit.signInWrites, notes: notes))
  }

  /// Brings the asserted address to an account that has the identity.
  private func bring(address owner: AccountState?, to edit: inout AccountEdit, news: Bool) -> [AuditNote] {
    guard policy.oneAccountPerEmail, let email = assertion.email else { return [] }
    let accountID = edit.before.id
    guard let owner, owner.account.id != accountID else {
      // An address that the account may not get stays away, without a failure of the sign-in.
      if owner != nil || policy.emailDomains.allows(email) { edit.fillAddress(email, of: assertion) }
      return []
    }
    return news ? [AuditNote(.addressOwnedElsewhere, accountID: accountID, details: ["provider_id": providerID])] : []
  }

  /// Signs in to the account whose identity is that of the same user at the application's former team (X6).
  ///
  /// The provider's signature covers both subjects. The identity gets the new subject in the change that opens the
  /// session, so each is used once.
  private func transfer(_ known: AccountState, emailOwner: AccountState?) -> SignInDecision {
    if known.account.disabled { return .refuse(.userIsDisabled) }
    if known.wantsSecondFactor(passedFor: passedFor) { return .secondFactorRequired(known) }
    var edit = AccountEdit(known)
    let news = edit.transfer(to: assertion)
    var notes = [
      AuditNote(.identityTransferred, accountID: known.account.id, details: ["provider_id": providerID])
    ]
    notes += bring(address: emailOwner, to: &edit, news: news)
    edit.noteSignIn(at: now, upgradedHash: nil)
    return .open(Opening(state: edit.state, writes: edit.writes, notes: notes))
  }

  /// Creates an account (S2, S3, S4). In duplicate mode it copies no email address, so none is ever compared.
  private func create() -> Opening {
    var account = AccountRecord(id: newAccountID(), createdAt: now)
    account.displayName = assertion.displayName
    account.photoURL = assertion.photoURL
    account.lastSignInAt = now
    if policy.oneAccountPerEmail, let email = assertion.email {
      account.emailAddress = EmailAddress(
        email, source: providerID,
        verification: assertion.tier >= .verified ? .assertion(providerID: providerID) : nil)
    }
    let identity = IdentityRecord(assertion: assertion, accountID: account.id, linkedAt: now)
    let note = AuditNote(.accountCreated, accountID: account.id, details: ["provider_id": providerID])
    return Opening(
      state: AccountState(account: account, identities: [identity]),
      writes: [.account(.insert(account)), .identity(.insert(identity))], notes: [note], isNewAccount: true)
  }
}

// MARK: the email address belongs to an account

extension AssertionDecision {
  private func meet(_ owner: AccountState) -> SignInDecision {
    let ways = SignInMethods(owner, policy)
    if owner.identity(of: providerID) != nil { return subjectChanged(owner, ways) }
    if owner.isUnentered(policy) { return adopt(owner) }
    if owner.account.disabled, assertion.tier >= .verified { return .refuse(.userIsDisabled) }
    if owner.account.emailVerified { return meetVerified(owner, ways) }
    if assertion.tier >= .verified { return meetUnverified(owner, ways) }
    return .accountExists(conflict(owner, ways))
  }

  /// S8. The mailbox may have a new holder, so the sign-in methods that depend on it do not count.
  private func subjectChanged(_ owner: AccountState, _ ways: SignInMethods) -> SignInDecision {
    let ways = ways.without(SignInMethods.mailbox.union([providerID]))
    let reason = ways.isEmpty ? AccountExists.Reason.askAdministrator : .subjectChanged
    return .accountExists(Conflict(owner: owner, ways: ways, reason: reason))
  }

  /// S12. No user can sign in to the account, so linking the identity locks out no one.
  ///
  /// A disabled account stays disabled. An enrolled factor must pass before any write. An unlinked identity does not
  /// come back on its own.
  private func adopt(_ owner: AccountState) -> SignInDecision {
    let wasUnlinked = owner.unlinks.contains { $0.key == assertion.identity }
    guard assertion.tier == .authoritative, !wasUnlinked else {
      return .accountExists(conflict(owner, SignInMethods(mailboxUnder: policy)))
    }
    if owner.account.disabled { return .refuse(.userIsDisabled) }
    return link(owner, details: ["proof": "authoritative assertion"])
  }

  /// S5. `auto_link` needs a proof on both sides. An administrator's statement is no proof by the user, and an unlink
  /// shows that the user wanted the provider separate.
  private func meetVerified(_ owner: AccountState, _ ways: SignInMethods) -> SignInDecision {
    let account = owner.account
    guard policy.autoLink == .authoritative, assertion.tier == .authoritative,
      let proof = account.emailAddress?.verification, proof.allowsAutoLink, !account.madeByAdministrator,
      !owner.unlinks.contains(where: { $0.key.providerID == providerID })
    else { return .accountExists(conflict(owner, ways)) }
    return link(owner, details: ["proof": "authoritative assertion", "account_proof": proof.kind.rawValue])
  }

  /// S6a and S6b: the account never verified its email address.
  private func meetUnverified(_ owner: AccountState, _ ways: SignInMethods) -> SignInDecision {
    if owner.holdsOnlyAddress, reclaims { return .open(takeover.reclaim(owner)) }
    // A claim needs an assertion by the mailbox's own provider. A merely verified address needs an emailed code.
    let canClaim = assertion.tier == .authoritative && mayClaim
    if canClaim, claimAddress, !existingOnly { return .open(takeover.claim(from: owner, opening: create())) }
    var conflict = conflict(owner, ways)
    conflict.canClaimAddress = canClaim
    if canClaim { conflict.reason = .none }
    return .accountExists(conflict)
  }

  private var takeover: Takeover { Takeover(assertion: assertion, policy: policy, now: now) }

  private var reclaims: Bool {
    switch policy.reclaim {
    case .authoritative: assertion.tier == .authoritative
    case .verified: assertion.tier >= .verified
    case .refuse: false
    }
  }

  private func conflict(_ owner: AccountState, _ ways: SignInMethods) -> Conflict {
    let ways = ways.orMailbox(of: owner.account, policy)
    return Conflict(owner: owner, ways: ways, reason: ways.isEmpty ? .askAdministrator : .none)
  }

  private func link(_ owner: AccountState, details: [String: String]) -> SignInDecision {
    if owner.wantsSecondFactor(passedFor: passedFor) { return .secondFactorRequired(owner) }
    var edit = AccountEdit(owner)
    edit.link(assertion, policy: policy, now: now)
    edit.noteSignIn(at: now, upgradedHash: nil)
    let details = details.merging(["provider_id": providerID]) { mine, _ in mine }
    let note = AuditNote(.linked, accountID: owner.account.id, details: details)
    return .open(Opening(state: edit.state, writes: edit.writes, notes: [note]))
  }
}

extension EmailVerification {
  /// Whether `auto_link` accepts it from the owner of the address (S5).
  fileprivate var allowsAutoLink: Bool {
    switch self {
    case .assertion, .emailLink, .confirmation: true
    case .reset, .administrator: false
    }
  }
}
