import Store

/// A verified sign-in method for the account of a pending row.
enum VerifiedMethod: Hashable, Sendable {
  case password(CheckedPassword)
  case identity(Assertion)
  case customToken(CustomToken)
  /// A phone number or email address, verified by a code that was sent to it.
  case code(Assertion)

  var providerID: String {
    switch self {
    case .password: SignInMethods.password
    case .identity(let assertion): assertion.identity.providerID
    case .customToken: FirstFactor.customToken.signInProviderID
    case .code(let assertion): assertion.identity.providerID
    }
  }
}

/// Decision for `SignIn(credential, pending_token)`, which signs in to the account of the pending row and links the
/// pending identity to it in one transaction.
///
/// The credential must be a sign-in method that this account already has. A completion never creates, reclaims or links
/// on its own.
struct CompletionDecision: Sendable {
  var way: VerifiedMethod
  /// The account whose second factor this call verified.
  var passedFor: String?
  var policy: Policy
  var now: Timestamp

  /// Decides on the loaded records.
  /// - Parameter facts: the account of the row, the owner of the pending identity and the owner of its email address.
  func decide(_ row: PendingRecord, _ held: PendingAssertion, _ facts: Facts) -> SignInDecision {
    guard let owner = facts.pendingAccount else { return .refuse(PendingTable.mismatch("the account was deleted")) }
    if let other = resolve(to: owner) { return other }
    if facts.tokenSpent { return .refuse(.tokenWasSpent) }
    let identity = held.assertion.identity
    guard policy.enables(identity.providerID) else { return .refuse(.notEnabled(identity.providerID)) }
    if owner.wantsSecondFactor(passedFor: passedFor) { return .secondFactorRequired(owner) }
    if let identityOwner = facts.identityOwner {
      guard identityOwner.account.id == owner.account.id else {
        return .refuse(PendingTable.mismatch("the identity now belongs to another account"))
      }
      return .open(open(owner, linking: nil))
    }
    if owner.identity(of: identity.providerID) != nil {
      return .refuse(.otherSubjectIsLinked(field: "pending_token"))
    }
    if policy.oneAccountPerEmail, let emailOwner = facts.emailOwner, emailOwner.account.id != owner.account.id {
      return .refuse(.addressOfIdentityIsTaken(field: "pending_token", email: held.assertion.email))
    }
    if owner.unlinked(identity.providerID, after: row.createdAt), !owner.held(way, before: row.createdAt) {
      return .refuse(PendingTable.mismatch("the subject changed, and this sign-in method is newer than the row"))
    }
    if case .code(let proof) = way, !owner.proves(proof.identity), !owner.hasSecondFactor, !owner.isUnentered(policy) {
      // The only takeover by a completion: the user controls the mailbox, which the account never verified.
      let takeover = Takeover(assertion: proof, policy: policy, now: now, completing: row.digest)
      return .open(takeover.reclaim(owner, linking: held.assertion))
    }
    return .open(open(owner, linking: held.assertion))
  }

  /// Checks the credential against the account. nil: it is valid for this account, and the account is enabled.
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

  /// Whether a sign-in link may sign in to an account that never verified the email address.
  ///
  /// It may by reclaim, behind the account's second factor, which then protects everything, or if no user could sign in
  /// before (S12).
  private func mayTakeOver(_ owner: AccountState, _ proof: Assertion) -> Bool {
    proof.identity.providerID == SignInMethods.emailLink && owner.account.email == proof.identity.subject
      && (owner.hasSecondFactor || owner.isUnentered(policy) || (owner.holdsOnlyAddress && policy.reclaim != .refuse))
  }

  private var otherAccount: Failure { PendingTable.mismatch("the row belongs to another account than the credential") }

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
    case .identity(let own): edit.refresh(own, factorPassed: passedFor == owner.account.id)
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
