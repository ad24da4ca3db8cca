import Store

/// What is to be added to the caller's account, verified completely.
enum LinkProof: Hashable, Sendable {
  case assertion(Assertion)
  /// A password that was found good enough, as its hash, under the address that the request named.
  case password(email: String, hash: String)
}

/// What a decision about linking looks at. Owners may be one and the same account; only ids tell.
struct LinkFacts: Hashable, Sendable {
  var caller: CallerSession
  var identityOwner: AccountState?
  var emailOwner: AccountState?
  /// When the proof was put in a pending row that this call completes (L10).
  var heldSince: Timestamp?
  /// When the call began to wait for the second factor of the caller's that it has now shown.
  var shownFactorSince: Timestamp?

  /// Another number in the place of the caller's own: proved by a code of now, and nobody's yet (L2 comes first).
  fileprivate func replacesNumber(by assertion: Assertion) -> Bool {
    assertion.identity.providerID == WaysIn.phone && identityOwner == nil && heldSince == nil
      && caller.state.holdsOther(than: assertion.identity)
  }
}

/// The rows L1 to L12.
enum LinkDecision: Hashable, Sendable {
  case refuse(Failure)
  /// L1: the account stays as it is.
  case alreadyLinked
  /// L2: held for the owner, who is not named to the caller.
  case credentialInUse(Assertion, ownerID: String)
  /// L11: decided again after the factor.
  case secondFactorRequired
  case link(AccountEdit)

  /// L1 comes first because it changes nothing; the age of the login before the second factor, because the new login
  /// that cures it asks for the factor as well.
  static func decide(_ proof: LinkProof, _ facts: LinkFacts, policy: Policy, now: Timestamp) -> LinkDecision {
    let caller = facts.caller
    if case .assertion(let assertion) = proof {
      let identity = assertion.identity
      guard policy.enables(identity.providerID) else { return .refuse(.notEnabled(identity.providerID)) }
      if caller.state.holds(identity) { return .alreadyLinked }
    }
    // A login that grew too old while the factor was asked for would cost the person both codes.
    let asked = facts.shownFactorSince ?? now
    // Who signed in after the row was made did so to complete it. An older login is a session that a thief may hold,
    // and the row may be his own.
    if facts.heldSince.map({ caller.session.authTime < $0 }) ?? true {
      do { try requireRecentLogin(caller, policy: policy, now: asked) } catch { return .refuse(error) }
    }
    if case .assertion(let assertion) = proof, facts.replacesNumber(by: assertion) {
      do { try requireLoginToReplaceNumber(caller, policy: policy, now: asked) } catch { return .refuse(error) }
    }
    if caller.lacksSecondFactor, facts.shownFactorSince == nil { return .secondFactorRequired }
    switch proof {
    case .assertion(let assertion): return decide(assertion, facts, policy: policy, now: now)
    case .password(let email, let hash): return decide(email: email, hash: hash, facts, policy: policy, now: now)
    }
  }

  /// L12.
  static func requireRecentLogin(_ caller: CallerSession, policy: Policy, now: Timestamp) throws(Failure) {
    guard !caller.state.account.anonymous else { return }
    try SessionCheck.requireRecentLogin(
      caller, maxAgeMillis: policy.linkRecentLoginMillis, policy: policy, now: now)
  }

  /// A number is no subject of a provider that a person is known by there: another one takes the place of the old, as
  /// an address does, and wants as new a login. Refused, a person with nothing but a telephone could never change its
  /// number.
  private static func requireLoginToReplaceNumber(
    _ caller: CallerSession, policy: Policy, now: Timestamp
  ) throws(Failure) {
    try SessionCheck.requireRecentLogin(caller, for: .changeEmail, policy: policy, now: now)
  }

  /// L2 to L7, for an anonymous caller as well (L9).
  private static func decide(
    _ assertion: Assertion, _ facts: LinkFacts, policy: Policy, now: Timestamp
  ) -> LinkDecision {
    let state = facts.caller.state
    if let owner = facts.identityOwner {
      guard facts.heldSince == nil else {
        return .refuse(PendingTable.mismatch("the identity has become another account's"))
      }
      return .credentialInUse(assertion, ownerID: owner.account.id)
    }
    if !facts.replacesNumber(by: assertion), let failure = state.refusal(ofFirstFactor: assertion.identity.providerID) {
      return .refuse(failure)
    }
    let isMailedLink = assertion.identity.providerID == WaysIn.emailLink
    if state.holdsOther(than: assertion.identity), !facts.replacesNumber(by: assertion) {
      return .refuse(.otherSubjectIsLinked(field: "credential"))
    }
    if policy.oneAccountPerEmail || isMailedLink, let owner = facts.emailOwner,
      owner.account.id != state.account.id
    {
      return .refuse(.addressOfIdentityIsTaken(field: "credential", email: assertion.email))
    }
    if isMailedLink, let own = state.account.email, own != assertion.email {
      return .refuse(.addressIsNotItsOwn(field: "credential.email_link.email"))
    }
    if let since = facts.heldSince, state.unlinked(assertion.identity.providerID, after: since),
      !facts.caller.began(before: since)
    {
      return .refuse(PendingTable.mismatch("the subject changed, and the login is by a way in that came later"))
    }
    var edit = AccountEdit(state)
    edit.link(assertion, policy: policy, now: now)
    return .link(edit)
  }

  /// L8, and L9 for an account without an address. A link never exchanges an address: the new one would be unproved
  /// (check 81).
  private static func decide(
    email: String, hash: String, _ facts: LinkFacts, policy: Policy, now: Timestamp
  ) -> LinkDecision {
    let account = facts.caller.state.account
    if account.passwordHash != nil {
      return .refuse(
        Failure(.providerAlreadyLinked, field: "credential.password", hint: "The account has a password already."))
    }
    if policy.signUp == .verifyFirst, account.email == nil {
      return .refuse(.addressIsToBeProvedFirst(byLink: policy.enables(WaysIn.emailLink)))
    }
    if policy.signUp != .verifyFirst, let owner = facts.emailOwner, owner.account.id != account.id {
      return .refuse(
        Failure(.emailAlreadyInUse, field: "credential.password.email", hint: "Another account uses this address."))
    }
    if let own = account.email, own != email {
      return .refuse(.addressIsNotItsOwn(field: "credential.password.email"))
    }
    var edit = AccountEdit(facts.caller.state)
    edit.setPassword(hash: hash, email: email, now: now)
    return .link(edit)
  }
}

extension Failure {
  /// The same for a free and an owned email address, so that a guest learns no more than Create tells (check 39).
  static func addressIsToBeProvedFirst(byLink: Bool) -> Failure {
    Failure(
      .operationNotAllowed, field: "credential.password.email",
      hint: byLink
        ? "Link a sign-in link that was sent to this email address first, then the password."
        : "Create an account for this email address, and merge the two accounts.")
  }

  static func otherSubjectIsLinked(field: String) -> Failure {
    Failure(
      .providerAlreadyLinked, field: field,
      hint: "Another identity of this provider is linked; unlink that one first.")
  }

  /// Names the address, which a redirect has told nobody but us: without it the person would not know which account to
  /// sign in to.
  static func addressOfIdentityIsTaken(field: String, email: String?) -> Failure {
    Failure(
      .emailAlreadyInUse, field: field, hint: "Another account uses the address of this identity.",
      metadata: email.map { ["email": $0] } ?? [:])
  }

  /// Of a password or a mailed link. Firebase's link would exchange the address; here that takes a mail to the new one,
  /// and leaves the old one a way back.
  fileprivate static func addressIsNotItsOwn(field: String) -> Failure {
    Failure(
      .invalidField, field: field,
      hint: "The account has another address. Change that by SendEmailChange to the new one first, then link.")
  }
}

// MARK: S8

extension AccountState {
  /// A row that waited while a subject of its own provider was unlinked met a changed subject (S8): a recycled mailbox.
  func unlinked(_ providerID: String, after since: Timestamp) -> Bool {
    unlinks.contains { $0.key.providerID == providerID && $0.at >= since }
  }

  /// Whether a way in was there at `moment`: after a change of subject only such a one counts, since a newer may be the
  /// work of the mailbox's new holder.
  func held(_ providerID: String, before moment: Timestamp) -> Bool {
    switch providerID {
    case WaysIn.password: account.passwordSetAt.map { $0 < moment } ?? false
    case FirstFactor.customToken.signInProviderID: true
    case WaysIn.phone: account.phoneNumberSetAt.map { $0 < moment } ?? false
    default: identity(of: providerID).map { $0.linkedAt < moment } ?? false
    }
  }
}

extension CallerSession {
  fileprivate func began(before moment: Timestamp) -> Bool {
    session.authTime < moment || state.held(session.beganWith, before: moment)
  }
}
