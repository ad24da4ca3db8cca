// Iterations of several calls, each of which needs what the one before has brought.

/// Makes an account of a fresh address and removes it.
struct CreateDelete: Work {
  let login: Login
  private var isCreated = false

  init(_ login: Login) { self.login = login }

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch answer {
    case nil: return .call(.create(login))
    case .session(let session)? where !isCreated:
      if let flaw = session.flaw(of: nil) { return .wrong(flaw) }
      guard session.account.email == login.email else { return .wrong("an account of another address") }
      isCreated = true
      return .call(.delete(idToken: session.idToken))
    case .done? where isCreated: return .done
    case let answer?: return answer.surprise
    }
  }
}

/// Links an identity to an account that has a password, and unlinks it again.
struct LinkUnlink: Work {
  private enum Stage { case begun, signingIn, linking, unlinking }

  let person: Person
  let token: ProviderToken
  private var stage = Stage.begun

  init(_ person: Person, _ token: ProviderToken) {
    self.person = person
    self.token = token
  }

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    guard let answer else {
      if person.hasRecentLogin(atNanos: nowNanos) { return link() }
      stage = .signingIn
      return .call(.signIn(person.credential))
    }
    guard case .session(let session) = answer else { return answer.surprise }
    if let flaw = session.flaw(of: person.accountID) { return .wrong(flaw) }
    person.session = session
    let isLinked = session.account.providerIDs.contains(token.providerID)
    switch stage {
    case .begun, .signingIn:
      person.signedInNanos = nowNanos
      return link()
    case .linking:
      guard isLinked else { return .wrong("an account without what was linked") }
      stage = .unlinking
      return .call(.unlink(idToken: session.idToken, providerID: token.providerID))
    case .unlinking: return isLinked ? .wrong("an account with what was unlinked") : .done
    }
  }

  private mutating func link() -> Step {
    stage = .linking
    return .call(.link(idToken: person.session?.idToken ?? "", token))
  }
}

/// Somebody anonymous turns out to be somebody with an account.
struct Merge: Work {
  private enum Stage { case signingIn, arriving, merging, asking }

  let person: Person
  private var stage = Stage.signingIn
  private var guest: SessionFacts?

  init(_ person: Person) { self.person = person }

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch (stage, answer) {
    case (_, nil): return person.hasRecentLogin(atNanos: nowNanos) ? arrive() : .call(.signIn(person.credential))
    case (.signingIn, .session(let session)?):
      if let flaw = session.flaw(of: person.accountID) { return .wrong(flaw) }
      person.signedIn(session, atNanos: nowNanos)
      return arrive()
    case (.arriving, .session(let session)?):
      if let flaw = session.flaw(of: nil) { return .wrong(flaw) }
      guest = session
      stage = .merging
      return .call(.merge(survivorIDToken: person.session?.idToken ?? "", otherIDToken: session.idToken))
    case (.merging, .merged(let session, let closedAccountID)?):
      guard let session else { return .wrong("a conflict where there is none") }
      if let flaw = session.flaw(of: person.accountID) { return .wrong(flaw) }
      guard closedAccountID == guest?.account.id else { return .wrong("another account was closed") }
      person.session = session
      stage = .asking
      return .call(.verify(idToken: guest?.idToken ?? ""))
    case (.asking, .verdict(let active, _, _)?):
      return active ? .wrong("an open session of an account that was closed") : .done
    case (_, let answer?): return answer.surprise
    }
  }

  private mutating func arrive() -> Step {
    stage = .arriving
    return .call(.signIn(.anonymous))
  }
}

/// Asks for another address, which a recent login is needed for.
struct SendEmailChange: Work {
  let person: Person
  let newEmail: String
  let continueURI: String

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch answer {
    case nil: return person.hasRecentLogin(atNanos: nowNanos) ? send() : .call(.signIn(person.credential))
    case .session(let session)?:
      if let flaw = session.flaw(of: person.accountID) { return .wrong(flaw) }
      person.signedIn(session, atNanos: nowNanos)
      return send()
    case let answer?: return answer.begun(withID: false)
    }
  }

  private func send() -> Step {
    let idToken = person.session?.idToken ?? ""
    return .call(.sendEmailChange(idToken: idToken, newEmail: newEmail, continueURI: continueURI))
  }
}

/// Somebody comes by a provider that is not trusted to have checked the address of an account with a password: the
/// conflict, what is held, the completion by password, and the way back, so that it can happen again.
struct Conflict: Work {
  private enum Stage { case conflicting, looking, completing, unlinking }

  let person: Person
  let token: ProviderToken
  private var stage = Stage.conflicting
  private var pendingToken = ""

  init(_ person: Person, _ token: ProviderToken) {
    self.person = person
    self.token = token
  }

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch (stage, answer) {
    case (_, nil): return .call(.signIn(.provider(token)))
    case (.conflicting, .accountExists(let email, let pendingToken)?):
      guard email == person.login.email else { return .wrong("a conflict over another address") }
      guard !pendingToken.isEmpty else { return .wrong("a conflict without a pending token") }
      self.pendingToken = pendingToken
      stage = .looking
      return .call(.fetchHeld(pendingToken: pendingToken))
    case (.looking, .ways(_, _, let held)?):
      guard held == Held(providerID: token.providerID, email: person.login.email) else {
        return .wrong("a held credential of something else")
      }
      stage = .completing
      return .call(.signIn(.password(person.login), pendingToken: pendingToken))
    case (.completing, .session(let session)?):
      if let flaw = session.flaw(of: person.accountID) { return .wrong(flaw) }
      guard session.account.providerIDs.contains(token.providerID) else {
        return .wrong("a completion that linked nothing")
      }
      stage = .unlinking
      return .call(.unlink(idToken: session.idToken, providerID: token.providerID))
    case (.unlinking, .session(let session)?):
      if let flaw = session.flaw(of: person.accountID) { return .wrong(flaw) }
      let isLinked = session.account.providerIDs.contains(token.providerID)
      return isLinked ? .wrong("an account with what was unlinked") : .done
    case (.conflicting, .session?): return .wrong("a session where the address belongs to another account")
    case (_, let answer?): return answer.surprise
    }
  }
}

/// Asks what is held under a pending token, which is made anew before it expires.
struct FetchHeld: Work {
  /// A pending credential is kept for ten minutes by default.
  private static let tokenMaxNanos: Int64 = 480_000_000_000

  let person: Person
  let token: ProviderToken

  init(_ person: Person, _ token: ProviderToken) {
    self.person = person
    self.token = token
  }

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch answer {
    case nil:
      let isFresh = !person.pendingToken.isEmpty && nowNanos - person.tokenNanos < FetchHeld.tokenMaxNanos
      return .call(isFresh ? .fetchHeld(pendingToken: person.pendingToken) : .signIn(.provider(token)))
    case .accountExists(_, let pendingToken)?:
      person.pendingToken = pendingToken
      person.tokenNanos = nowNanos
      return .call(.fetchHeld(pendingToken: pendingToken))
    case .ways(_, _, let held)?:
      let expected = Held(providerID: token.providerID, email: person.login.email)
      return held == expected ? .done : .wrong("a held credential of something else")
    case let answer?: return answer.surprise
    }
  }
}

/// Opens a connection, calls once unless told otherwise, and ends with it.
struct Handshake: Work {
  let calls: Bool
  let resumes: Bool

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch answer {
    case nil: return .call(.connect)
    case .connected(let resumed)?:
      // The first of a loop has nothing to resume, so that only the other way round is wrong.
      if resumed && !resumes { return .wrong("a handshake that took up an earlier session") }
      return calls ? .call(.health) : .done
    case let answer?: return SingleCall.health.next(answer, nowNanos: nowNanos)
    }
  }
}
