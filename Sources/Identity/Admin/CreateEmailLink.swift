package import Store

package struct CreateEmailLinkRequest: Hashable, Sendable {
  package enum Mode: String, Hashable, Sendable, CaseIterable {
    case signIn
    case verifyEmail
    case resetPassword
    case changeEmail
  }

  package var mode: Mode
  /// Normalised. For `changeEmail`: the new address.
  package var email: String
  /// For `changeEmail` only.
  package var accountID: String
  package var continueURI: String

  package init(mode: Mode, email: String, accountID: String = "", continueURI: String) {
    self.mode = mode
    self.email = email
    self.accountID = accountID
    self.continueURI = continueURI
  }
}

/// The caller that redeems the code of a link.
package struct LinkCaller: Sendable {
  package var name: CallerName
  package var redirectURIs: [String]

  package init(name: CallerName, redirectURIs: [String]) {
    self.name = name
    self.redirectURIs = redirectURIs
  }
}

package struct CreatedEmailLink: Hashable, Sendable {
  package var link: String
  package var expiresAt: Timestamp
}

/// Creates a link to an email address, and returns it instead of mailing it.
package struct CreateEmailLink: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(
    _ request: CreateEmailLinkRequest, for redeemer: LinkCaller, _ call: CallFacts
  ) async throws -> CreatedEmailLink {
    try requireEnabled(request.mode)
    // The row belongs to the caller that redeems the code, and to no browser.
    let owner = CallFacts(
      caller: redeemer.name, mayFetchByEmail: false, callerIdentified: true, audiences: call.audiences,
      redirectURIs: redeemer.redirectURIs)
    try owner.requireRedirect(request.continueURI, field: "continue_uri")
    var query = Query()
    query.email = request.email
    query.accountID = request.mode == .changeEmail ? request.accountID : nil
    return try await environment.decideAndCommit(query, try await environment.load(query), call: call) { facts, now in
      let account = try CreateEmailLink.account(request, facts)
      let pending = code(request, of: account, owner, now)
      let link = EmailLink.uri(
        request.continueURI, mode: request.mode.codeMode, code: pending.handle, email: request.email)
      let note = AuditNote(
        .emailLinkCreated, accountID: account?.account.id ?? "",
        details: [
          "mode": request.mode.rawValue, "for_caller": redeemer.name.text,
          "expires_at_millis": "\(pending.record.expiresAt.millis)",
        ])
      return .commit(
        Change(environment.insert(pending) + [environment.audit(note, call: call, now: now)]),
        CreatedEmailLink(link: link, expiresAt: pending.record.expiresAt))
    }
  }

  private func requireEnabled(_ mode: CreateEmailLinkRequest.Mode) throws(Failure) {
    let isEnabled = switch mode {
    case .signIn: environment.policy.emailLinkEnabled
    case .resetPassword: environment.policy.passwordEnabled
    case .verifyEmail, .changeEmail: true
    }
    guard isEnabled else {
      throw Failure(.operationNotAllowed, field: "mode", hint: "The server's policy disables what the link is for.")
    }
  }

  /// Returns the account of the link. nil: a sign-in link creates it. An administrator may learn whether it exists.
  static func account(_ request: CreateEmailLinkRequest, _ facts: Facts) throws(Failure) -> AccountState? {
    switch request.mode {
    case .signIn: return facts.emailOwner
    case .verifyEmail, .resetPassword:
      guard let owner = facts.emailOwner else { throw Failure(.accountNotFound, field: "email") }
      return owner
    case .changeEmail:
      guard let state = facts.account else { throw facts.noAccount(field: "account_id") }
      guard state.account.email != request.email else {
        throw Failure(.invalidField, field: "email", hint: "The account already has this email address.")
      }
      if facts.emailOwner != nil {
        throw Failure(.emailAlreadyInUse, field: "email", hint: "Another account uses this email address.")
      }
      guard !state.account.anonymous else {
        throw Failure(.operationNotAllowed, field: "account_id", hint: "The account is anonymous.")
      }
      return state
    }
  }

  private func code(
    _ request: CreateEmailLinkRequest, of account: AccountState?, _ owner: CallFacts, _ now: Timestamp
  ) -> NewPending {
    let policy = environment.policy
    let id = account?.account.id ?? ""
    var held = PendingCode(anyBinding: true)
    var identity = IdentityKey.mail(request.email)
    if request.mode == .changeEmail {
      held.accountID = id
      held.continueURI = request.continueURI
      identity = .addressOf(id)
    }
    let (purpose, lifetimeMillis): (PendingPurpose, Int64) =
      switch request.mode {
      case .signIn: (.emailLink, policy.emailLinkLifetimeMillis)
      case .verifyEmail: (.verifyEmail, policy.emailVerificationLifetimeMillis)
      case .resetPassword: (.resetPassword, policy.passwordResetLifetimeMillis)
      case .changeEmail: (.changeEmail, policy.emailChangeLifetimeMillis)
      }
    return environment.newCode(
      held, purpose: purpose, identity: identity, email: request.email, accountID: id, lifetimeMillis: lifetimeMillis,
      call: owner, now: now)
  }
}

extension CreateEmailLinkRequest.Mode {
  var codeMode: CodeMode {
    switch self {
    case .signIn: .signIn
    case .verifyEmail: .verifyEmail
    case .resetPassword: .resetPassword
    case .changeEmail: .changeEmail
    }
  }
}
