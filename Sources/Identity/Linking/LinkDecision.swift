import Store

/// A completely verified credential that is added to the caller's account.
enum LinkProof: Hashable, Sendable {
  case assertion(Assertion)
  /// An accepted password, as its hash, and the email address that the request named.
  case password(email: String, hash: String)
}

/// Records for a decision about linking. Two owners may be the same account: compare their ids.
struct LinkFacts: Hashable, Sendable {
  var caller: CallerSession
  /// The owner of the identity, or of the one that it had at the application's former team (X6).
  var identityOwner: AccountState?
  var emailOwner: AccountState?
  /// When the proof was put in the pending row that this call completes (L10).
  var heldSince: Timestamp?
  /// When the call began to wait for the caller's second factor, which it has now shown.
  var shownFactorSince: Timestamp?

  /// Returns whether the assertion replaces the caller's phone number. A new code verified it, and no account has it
  /// yet (L2 comes first).
  fileprivate func replacesNumber(by assertion: Assertion) -> Bool {
    assertion.identity.providerID == SignInMethods.phone && identityOwner == nil && heldSince == nil
      && caller.state.holdsOther(than: assertion.identity)
  }
}

/// Rows L1 to L12.
enum LinkDecision: Hashable, Sendable {
  case refuse(Failure)
  /// L1: the account does not change.
  case alreadyLinked
  /// L2: the credential waits for its owner, whom the server does not name to the caller.
  case credentialInUse(Assertion, ownerID: String)
  /// L11: decided again after the factor.
  case secondFactorRequired
  case link(AccountEdit)

  /// Decides a link.
  ///
  /// L1 comes first because it changes nothing. The age of the login comes before the second factor, because the new
  /// login that is needed asks for the factor as well.
  static func decide(_ proof: LinkProof, _ facts: LinkFacts, policy: Policy, now: Timestamp) -> LinkDecision {
    let caller = facts.caller
    if case .assertion(let assertion) = proof {
      let identity = assertion.identity
      guard policy.enables(identity.providerID) else { return .refuse(.notEnabled(identity.providerID)) }
      // A registration proves nothing about a key that exists (P6).
      if caller.state.holds(identity) {
        return assertion.passkey == nil ? .alreadyLinked : .refuse(.passkeyExists)
      }
    }
    // A login that grows too old while the call waits for the factor would cost the user both codes.
    let asked = facts.shownFactorSince ?? now
    // A login after the row was made serves to complete it. An older session may be stolen, and the row may be the
    // attacker's own.
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

  /// Requires a recent login (L12). Anonymous callers are exempt.
  static func requireRecentLogin(_ caller: CallerSession, policy: Policy, now: Timestamp) throws(Failure) {
    guard !caller.state.account.anonymous else { return }
    try SessionCheck.requireRecentLogin(
      caller, maxAgeMillis: policy.linkRecentLoginMillis, policy: policy, now: now)
  }

  /// Requires a login as recent as a change of email address does.
  ///
  /// A phone number is not the subject of a user at a provider. Another number replaces it, as with an email address.
  /// Otherwise a user with only a phone could never change its number.
  private static func requireLoginToReplaceNumber(
    _ caller: CallerSession, policy: Policy, now: Timestamp
  ) throws(Failure) {
    try SessionCheck.requireRecentLogin(caller, for: .changeEmail, policy: policy, now: now)
  }

  /// Decides L2 to L7, also for an anonymous caller (L9).
  private static func decide(
    _ assertion: Assertion, _ facts: LinkFacts, policy: Policy, now: Timestamp
  ) -> LinkDecision {
    let state = facts.caller.state
    if let owner = facts.identityOwner {
      guard assertion.passkey == nil else { return .refuse(.passkeyExists) }
      // L1 came before, so the account has the subject of the former team.
      guard owner.account.id != state.account.id else { return .refuse(.subjectIsTransferredBySignIn) }
      guard facts.heldSince == nil else {
        return .refuse(PendingTable.mismatch("the identity belongs to another account now"))
      }
      return .credentialInUse(assertion, ownerID: owner.account.id)
    }
    if assertion.passkey != nil, let failure = state.passkeyLimit(policy) { return .refuse(failure) }
    if !facts.replacesNumber(by: assertion), assertion.passkey == nil,
      let failure = state.refusal(ofFirstFactor: assertion.identity.providerID)
    {
      return .refuse(failure)
    }
    let isEmailLink = assertion.identity.providerID == SignInMethods.emailLink
    if state.isFull(for: assertion.identity, policy), !facts.replacesNumber(by: assertion) {
      return .refuse(.otherSubjectIsLinked(field: "credential"))
    }
    if policy.oneAccountPerEmail || isEmailLink, let owner = facts.emailOwner,
      owner.account.id != state.account.id
    {
      return .refuse(.addressOfIdentityIsTaken(field: "credential", email: assertion.email))
    }
    if isEmailLink, let own = state.account.email, own != assertion.email {
      return .refuse(.addressIsNotItsOwn(field: "credential"))
    }
    if state.account.email == nil, policy.oneAccountPerEmail || isEmailLink, let email = assertion.email,
      let failure = policy.refusal(ofAddress: email, field: "credential")
    {
      return .refuse(failure)
    }
    if let since = facts.heldSince, state.unlinked(assertion.identity.providerID, after: since),
      !facts.caller.began(before: since)
    {
      return .refuse(PendingTable.mismatch("the subject changed, and the login uses a later sign-in method"))
    }
    var edit = AccountEdit(state)
    edit.link(assertion, policy: policy, now: now)
    return .link(edit)
  }

  /// Decides L8, and L9 for an account without an email address. A link never replaces an address: the new one would be
  /// unverified (check 81).
  private static func decide(
    email: String, hash: String, _ facts: LinkFacts, policy: Policy, now: Timestamp
  ) -> LinkDecision {
    let account = facts.caller.state.account
    if account.passwordHash != nil {
      return .refuse(
        Failure(
          .providerAlreadyLinked, field: "credential.password",
          hint: "The account already has a password. To change it, call Update."))
    }
    if account.email == nil, let failure = policy.refusal(ofAddress: email, field: "credential.password.email") {
      return .refuse(failure)
    }
    if policy.signUp != .immediate, account.email == nil {
      return .refuse(.addressIsToBeVerifiedFirst(policy))
    }
    if policy.signUp == .immediate, let owner = facts.emailOwner, owner.account.id != account.id {
      return .refuse(
        Failure(
          .emailAlreadyInUse, field: "credential.password.email",
          hint: "Another account uses this email address."))
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
  /// Failure for a password before the email address is verified.
  ///
  /// The same for a free and an owned address, so that an anonymous user learns no more than Create reveals (check 39).
  fileprivate static func addressIsToBeVerifiedFirst(_ policy: Policy) -> Failure {
    let hint =
      if policy.enables(SignInMethods.emailLink) {
        "Link a sign-in link or code that was sent to this email address first, then the password."
      } else if policy.signUp == .closed {
        "Ask an administrator to set the email address of the account first, then link the password."
      } else {
        "Create an account for this email address, and merge the two accounts."
      }
    return Failure(.operationNotAllowed, field: "credential.password.email", hint: hint)
  }

  fileprivate static let subjectIsTransferredBySignIn = Failure(
    .providerAlreadyLinked, field: "credential",
    hint: "The account has this identity under its former subject. Sign in with it once.")

  static func otherSubjectIsLinked(field: String) -> Failure {
    Failure(
      .providerAlreadyLinked, field: field,
      hint: "Another identity of this provider is linked. Unlink that one first.")
  }

  /// Failure for an identity whose email address belongs to another account.
  ///
  /// Names the address, which the redirect revealed only to this service. Without it, the user would not know which
  /// account to sign in to.
  static func addressOfIdentityIsTaken(field: String, email: String?) -> Failure {
    Failure(
      .emailAlreadyInUse, field: field, hint: "Another account uses the email address of this identity.",
      metadata: email.map { ["email": $0] } ?? [:])
  }

  /// Failure for a password or a sign-in link with another email address than the account's.
  ///
  /// Firebase's link would replace the address. Here a replacement requires an email to the new address, and the old
  /// address gets a revert link.
  fileprivate static func addressIsNotItsOwn(field: String) -> Failure {
    Failure(
      .invalidField, field: field,
      hint: "The account has another email address. Change it with SendEmailChange first, then link.")
  }
}

// MARK: S8

extension AccountState {
  /// Returns whether a subject of the provider was unlinked after `since`.
  ///
  /// A row that waited during that time met a changed subject, such as a recycled mailbox (S8).
  func unlinked(_ providerID: String, after since: Timestamp) -> Bool {
    unlinks.contains { $0.key.providerID == providerID && $0.at >= since }
  }

  /// Returns whether the account had the sign-in method before the given time.
  ///
  /// After a change of subject, only such a method counts. The new holder of the mailbox may have added a later one.
  func held(_ providerID: String, before moment: Timestamp) -> Bool {
    switch providerID {
    case SignInMethods.password: account.passwordSetAt.map { $0 < moment } ?? false
    case FirstFactor.customToken.signInProviderID: true
    case SignInMethods.phone: account.phoneNumberSetAt.map { $0 < moment } ?? false
    default:
      // A session does not record which of several passkeys began it, so all of them must be older.
      identity(of: providerID) != nil
        && identities.allSatisfy { $0.key.providerID != providerID || $0.linkedAt < moment }
    }
  }
}

extension CallerSession {
  fileprivate func began(before moment: Timestamp) -> Bool {
    session.authTime < moment || state.held(session.beganWith, before: moment)
  }
}
