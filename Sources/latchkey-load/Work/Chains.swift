// Iterations of several calls, each of which depends on the previous response.

/// An iteration that creates an account with a new email address and deletes it.
struct CreateDelete: Work {
  let login: Login
  private var isCreated = false

  init(_ login: Login) { self.login = login }

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch answer {
    case nil: return .call(.create(login))
    case .session(let session)? where !isCreated:
      if let flaw = session.flaw(of: nil) { return .wrong(flaw) }
      guard session.account.email == login.email else { return .wrong("the account has another address") }
      isCreated = true
      return .call(.delete(idToken: session.idToken))
    case .done? where isCreated: return .done
    case let answer?: return answer.surprise
    }
  }
}

/// An iteration that links an identity to an account with a password, and unlinks it.
struct LinkUnlink: Work {
  private enum Stage { case begun, signingIn, linking, unlinking }

  let user: LoadUser
  let token: ProviderToken
  private var stage = Stage.begun

  init(_ user: LoadUser, _ token: ProviderToken) {
    self.user = user
    self.token = token
  }

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    guard let answer else {
      if user.hasRecentLogin(atNanos: nowNanos) { return link() }
      stage = .signingIn
      return .call(.signIn(user.credential))
    }
    guard case .session(let session) = answer else { return answer.surprise }
    if let flaw = session.flaw(of: user.accountID) { return .wrong(flaw) }
    user.session = session
    let isLinked = session.account.providerIDs.contains(token.providerID)
    switch stage {
    case .begun, .signingIn:
      user.signedInNanos = nowNanos
      return link()
    case .linking:
      guard isLinked else { return .wrong("the account lacks the linked provider") }
      stage = .unlinking
      return .call(.unlink(idToken: session.idToken, providerID: token.providerID))
    case .unlinking: return isLinked ? .wrong("the account still has the unlinked provider") : .done
    }
  }

  private mutating func link() -> Step {
    stage = .linking
    return .call(.link(idToken: user.session?.idToken ?? "", token))
  }
}

/// An iteration that signs in anonymously and merges the anonymous account into an existing one.
struct Merge: Work {
  private enum Stage { case signingIn, arriving, merging, asking }

  let user: LoadUser
  private var stage = Stage.signingIn
  private var guest: SessionFacts?

  init(_ user: LoadUser) { self.user = user }

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch (stage, answer) {
    case (_, nil): return user.hasRecentLogin(atNanos: nowNanos) ? arrive() : .call(.signIn(user.credential))
    case (.signingIn, .session(let session)?):
      if let flaw = session.flaw(of: user.accountID) { return .wrong(flaw) }
      user.signedIn(session, atNanos: nowNanos)
      return arrive()
    case (.arriving, .session(let session)?):
      if let flaw = session.flaw(of: nil) { return .wrong(flaw) }
      guest = session
      stage = .merging
      return .call(.merge(survivorIDToken: user.session?.idToken ?? "", otherIDToken: session.idToken))
    case (.merging, .merged(let session, let closedAccountID)?):
      guard let session else { return .wrong("the merge reports a conflict") }
      if let flaw = session.flaw(of: user.accountID) { return .wrong(flaw) }
      guard closedAccountID == guest?.account.id else { return .wrong("another account was closed") }
      user.session = session
      stage = .asking
      return .call(.verify(idToken: guest?.idToken ?? ""))
    case (.asking, .verdict(let active, _, _)?):
      return active ? .wrong("the closed account still has an open session") : .done
    case (_, let answer?): return answer.surprise
    }
  }

  private mutating func arrive() -> Step {
    stage = .arriving
    return .call(.signIn(.anonymous))
  }
}

/// An iteration that requests a change of the email address, which requires a recent login.
struct SendEmailChange: Work {
  let user: LoadUser
  let newEmail: String
  let continueURI: String

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch answer {
    case nil: return user.hasRecentLogin(atNanos: nowNanos) ? send() : .call(.signIn(user.credential))
    case .session(let session)?:
      if let flaw = session.flaw(of: user.accountID) { return .wrong(flaw) }
      user.signedIn(session, atNanos: nowNanos)
      return send()
    case let answer?: return answer.begun(withID: false)
    }
  }

  private func send() -> Step {
    let idToken = user.session?.idToken ?? ""
    return .call(.sendEmailChange(idToken: idToken, newEmail: newEmail, continueURI: continueURI))
  }
}

/// An account-exists conflict: an untrusted provider's email address belongs to an account with a password.
///
/// The steps are the conflict, FetchProviders with the pending token, the completion with the password, and an unlink
/// that restores the initial state.
struct Conflict: Work {
  private enum Stage { case conflicting, looking, completing, unlinking }

  let user: LoadUser
  let token: ProviderToken
  private var stage = Stage.conflicting
  private var pendingToken = ""

  init(_ user: LoadUser, _ token: ProviderToken) {
    self.user = user
    self.token = token
  }

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch (stage, answer) {
    case (_, nil): return .call(.signIn(.provider(token)))
    case (.conflicting, .accountExists(let email, let pendingToken)?):
      guard email == user.login.email else { return .wrong("the conflict names another address") }
      guard !pendingToken.isEmpty else { return .wrong("the conflict has no pending token") }
      self.pendingToken = pendingToken
      stage = .looking
      return .call(.fetchHeld(pendingToken: pendingToken))
    case (.looking, .ways(_, _, let held)?):
      guard held == Held(providerID: token.providerID, email: user.login.email) else {
        return .wrong("another pending credential")
      }
      stage = .completing
      return .call(.signIn(.password(user.login), pendingToken: pendingToken))
    case (.completing, .session(let session)?):
      if let flaw = session.flaw(of: user.accountID) { return .wrong(flaw) }
      guard session.account.providerIDs.contains(token.providerID) else {
        return .wrong("the completion did not link the provider")
      }
      stage = .unlinking
      return .call(.unlink(idToken: session.idToken, providerID: token.providerID))
    case (.unlinking, .session(let session)?):
      if let flaw = session.flaw(of: user.accountID) { return .wrong(flaw) }
      let isLinked = session.account.providerIDs.contains(token.providerID)
      return isLinked ? .wrong("the account still has the unlinked provider") : .done
    case (.conflicting, .session?): return .wrong("a session although the address belongs to another account")
    case (_, let answer?): return answer.surprise
    }
  }
}

/// An iteration that fetches the pending credential of a pending token. Replaces the token before it expires.
struct FetchHeld: Work {
  /// The age at which a token is replaced. The server keeps a pending credential for ten minutes by default.
  private static let tokenMaxNanos: Int64 = 480_000_000_000

  let user: LoadUser
  let token: ProviderToken

  init(_ user: LoadUser, _ token: ProviderToken) {
    self.user = user
    self.token = token
  }

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch answer {
    case nil:
      let isFresh = !user.pendingToken.isEmpty && nowNanos - user.tokenNanos < FetchHeld.tokenMaxNanos
      return .call(isFresh ? .fetchHeld(pendingToken: user.pendingToken) : .signIn(.provider(token)))
    case .accountExists(_, let pendingToken)?:
      user.pendingToken = pendingToken
      user.tokenNanos = nowNanos
      return .call(.fetchHeld(pendingToken: pendingToken))
    case .ways(_, _, let held)?:
      let expected = Held(providerID: token.providerID, email: user.login.email)
      return held == expected ? .done : .wrong("another pending credential")
    case let answer?: return answer.surprise
    }
  }
}

/// An iteration that opens a connection, optionally makes one call, and closes the connection.
struct Handshake: Work {
  let calls: Bool
  let resumes: Bool

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch answer {
    case nil: return .call(.connect)
    case .connected(let resumed)?:
      // A full handshake is always valid, because the first one of a loop has no session to resume.
      if resumed && !resumes { return .wrong("the handshake resumed an earlier session") }
      return calls ? .call(.health) : .done
    case let answer?: return SingleCall.health.next(answer, nowNanos: nowNanos)
    }
  }
}
