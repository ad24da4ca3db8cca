import Store

/// A way into the account that a row was held for, proved by this call.
enum ProvedWayIn: Hashable, Sendable {
  case password(CheckedPassword)
  case identity(Assertion)
  case customToken(CustomToken)
  /// A number or an address, proved by a code that was sent there.
  case code(Assertion)

  var providerID: String {
    switch self {
    case .password: WaysIn.password
    case .identity(let assertion): assertion.identity.providerID
    case .customToken: FirstFactor.customToken.signInProviderID
    case .code(let assertion): assertion.identity.providerID
    }
  }
}

/// `SignIn(credential, pending_token)`: signs in to the account found and links the held identity to it, in one
/// transaction. Resolves only by a way in that this account already has; never creates, reclaims or links on its own.
struct CompletionDecision: Sendable {
  var way: ProvedWayIn
  /// The account whose second factor this call has shown.
  var passedFor: String?
  var policy: Policy
  var now: Timestamp

  /// - Parameter facts: of the row with its account, the owner of the held identity, and the owner of the held address.
  func decide(_ row: PendingRecord, _ held: HeldAssertion, _ facts: Facts) -> SignInDecision {
    guard let owner = facts.pendingAccount else { return .refuse(PendingTable.mismatch("the account is gone")) }
    if let other = resolve(to: owner) { return other }
    if facts.tokenSpent { return .refuse(.tokenWasSpent) }
    let identity = held.assertion.identity
    guard policy.enables(identity.providerID) else { return .refuse(.notEnabled(identity.providerID)) }
    if owner.wantsSecondFactor(passedFor: passedFor) { return .secondFactorRequired(owner) }
    if let identityOwner = facts.identityOwner {
      guard identityOwner.account.id == owner.account.id else {
        return .refuse(PendingTable.mismatch("the identity has become another account's"))
      }
      return .open(open(owner, linking: nil))
    }
    if owner.identity(of: identity.providerID) != nil {
      return .refuse(.otherSubjectIsLinked(field: "pending_token"))
    }
    if policy.oneAccountPerEmail, let emailOwner = facts.emailOwner, emailOwner.account.id != owner.account.id {
      return .refuse(.addressOfIdentityIsTaken(field: "pending_token", email: held.assertion.email))
    }
    if owner.unlinked(identity.providerID, after: row.createdAt), !owner.held(way.providerID, before: row.createdAt) {
      return .refuse(PendingTable.mismatch("the subject changed, and this way in came after the row"))
    }
    if case .code(let proof) = way, !owner.proves(proof.identity), !owner.hasSecondFactor, !owner.isUnentered(policy) {
      // The mailbox's holder, and an account that never proved it: the one way of a completion to take over.
      let takeover = Takeover(assertion: proof, policy: policy, now: now, completing: row.digest)
      return .open(takeover.reclaim(owner, linking: held.assertion))
    }
    return .open(open(owner, linking: held.assertion))
  }

  /// nil: the credential is a way into this account, and the account may be entered.
  func resolve(to owner: AccountState) -> SignInDecision? {
    switch way {
    case .password(let password):
      guard password.check.matches else { return .refuse(.wrongPassword) }
      guard password.ownerID == owner.account.id else { return .refuse(otherAccount) }
      guard password.isOf(owner.account), password.email == owner.account.email else { return .checkAgain }
    case .identity(let assertion):
      guard owner.holds(assertion.identity) else { return .refuse(otherAccount) }
    case .customToken(let token):
      guard token.accountID == owner.account.id else { return .refuse(otherAccount) }
      if owner.account.disabled { return .refuse(.userIsDisabled) }
      if let failure = token.refusal(by: owner.account, at: now) { return .refuse(failure) }
    case .code(let proof):
      guard owner.proves(proof.identity) || mayTakeOver(owner, proof) else { return .refuse(otherAccount) }
    }
    return owner.account.disabled ? .refuse(.userIsDisabled) : nil
  }

  /// An e-mail link on an account that never proved the address: by reclaim, or behind its second factor, which then
  /// guards everything, or because nobody could sign in to it before (S12).
  private func mayTakeOver(_ owner: AccountState, _ proof: Assertion) -> Bool {
    proof.identity.providerID == WaysIn.emailLink && owner.account.email == proof.identity.subject
      && (owner.hasSecondFactor || owner.isUnentered(policy) || (owner.holdsOnlyAddress && policy.reclaim != .refuse))
  }

  private var otherAccount: Failure { PendingTable.mismatch("held for another account than the credential proves") }

  private func open(_ owner: AccountState, linking assertion: Assertion?) -> Opening {
    var edit = AccountEdit(owner)
    var notes: [AuditNote] = []
    if let assertion {
      edit.link(assertion, policy: policy, now: now)
      notes.append(.linked(assertion.identity.providerID, to: owner.account.id, proof: "sign-in"))
    }
    var upgradedHash: String?
    switch way {
    case .password(let password): upgradedHash = password.check.upgradedHash
    case .identity(let own): edit.refresh(own)
    case .customToken: edit.edited.account.customToken = true
    case .code(let proof):
      if !edit.edited.holds(proof.identity) {
        edit.link(proof, policy: policy, now: now)
        notes.append(.linked(way.providerID, to: owner.account.id, proof: "code"))
      }
    }
    edit.noteSignIn(at: now, upgradedHash: upgradedHash)
    return Opening(state: edit.state, writes: edit.signInWrites, notes: notes)
  }
}
