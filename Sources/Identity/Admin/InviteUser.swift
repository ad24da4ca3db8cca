package import Store

package struct InviteRequest: Hashable, Sendable {
  /// Normalised.
  package var email: String
  /// Whether the link of the email signs in, or sets the first password.
  package var setsPassword: Bool
  package var displayName: String
  package var mail: MailOrder

  package init(email: String, setsPassword: Bool, displayName: String = "", mail: MailOrder) {
    self.email = email
    self.setsPassword = setsPassword
    self.displayName = displayName
    self.mail = mail
  }
}

package struct Invited: Hashable, Sendable {
  package var accountID: String
  package var expiresAt: Timestamp
  /// False: an earlier invitation is sent again.
  package var isNewAccount: Bool
}

/// Creates an unentered account for a user, and mails the link by which the user enters it (S12, section 14).
///
/// The address is unverified until its user opens the link: an administrator may have mistyped it.
package struct InviteUser: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// - Parameter redeemer: the caller whose page the link opens.
  package func callAsFunction(
    _ request: InviteRequest, for redeemer: LinkCaller, _ call: CallFacts
  ) async throws -> Invited {
    let policy = environment.policy
    guard request.setsPassword ? policy.passwordEnabled : policy.emailLinkEnabled else {
      throw Failure(.operationNotAllowed, field: "mode", hint: "The server's policy disables what the link is for.")
    }
    // The row belongs to the caller that redeems the code, and to no browser.
    let owner = CallFacts(
      caller: redeemer.name, mayFetchByEmail: false, callerIdentified: true, audiences: call.audiences,
      redirectURIs: redeemer.redirectURIs)
    try environment.requireMail(request.mail, owner)
    let newID = environment.ids.account()
    var query = Query()
    query.email = request.email
    let facts = try await environment.load(query)
    try await environment.requireSend(
      .invitation, to: .email(request.email), locale: request.mail.locale, call, nil, facts)
    return try await environment.decideAndCommit(query, facts, call: call) { facts, now in
      switch InviteUser.decide(request, facts.emailOwner, newID: newID, policy: policy, now: now) {
      case .failure(let failure): return .refuse(failure)
      case .success(let account):
        return commit(request, account, isNew: facts.emailOwner == nil, redeemer, owner, call, now)
      }
    }
  }

  /// Returns the invited account: a new one, or one that no user has entered yet.
  static func decide(
    _ request: InviteRequest, _ existing: AccountState?, newID: String, policy: Policy, now: Timestamp
  ) -> Result<AccountRecord, Failure> {
    if let existing {
      guard existing.isUnentered(policy) else {
        return .failure(
          Failure(.emailAlreadyInUse, field: "email", hint: "A user has entered the account of this email address."))
      }
      return existing.account.disabled ? .failure(.userIsDisabled) : .success(existing.account)
    }
    var account = AccountRecord(id: newID, createdAt: now)
    account.emailAddress = EmailAddress(request.email, source: SignInMethods.password)
    account.displayName = request.displayName
    account.madeByAdministrator = true
    return .success(account)
  }

  private func commit(
    _ request: InviteRequest, _ account: AccountRecord, isNew: Bool, _ redeemer: LinkCaller, _ owner: CallFacts,
    _ call: CallFacts, _ now: Timestamp
  ) -> Step<Invited> {
    let purpose: PendingPurpose = request.setsPassword ? .resetPassword : .emailLink
    let pending = environment.newCode(
      PendingCode(anyBinding: true, isInvitation: true), purpose: purpose, identity: .invitation(request.email),
      email: request.email, accountID: account.id,
      lifetimeMillis: environment.policy.invitationLifetimeMillis, call: owner, now: now)
    let expiresAt = pending.record.expiresAt
    var writes: [Write] = []
    if isNew {
      let created = AuditNote(.accountCreated, accountID: account.id, details: AdminDecision.byAdministrator)
      writes = [.account(.insert(account)), environment.audit(created, call: call, now: now)]
    }
    let details = ["for_caller": redeemer.name.text, "expires_at_millis": "\(expiresAt.millis)"]
    // The new link replaces the one before, also one that was for the other purpose (section 14).
    let other: PendingPurpose = request.setsPassword ? .emailLink : .resetPassword
    writes.append(.pending(.end(other, .invitation(request.email))))
    writes += environment.insert(pending) + [
      environment.mail(.invitation, pending, to: request.email, request.mail, now),
      environment.audit(AuditNote(.invited, accountID: account.id, details: details), call: call, now: now),
    ]
    return .commit(Change(writes), Invited(accountID: account.id, expiresAt: expiresAt, isNewAccount: isNew))
  }
}
