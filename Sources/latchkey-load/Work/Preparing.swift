// Iterations that make the people of a run, before it begins.

/// Makes an account with a password, or signs in to it where it is known from an earlier run.
struct MakeAccount: Work {
  let person: Person

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch answer {
    case nil: return .call(person.accountID == nil ? .create(person.login) : .signIn(.password(person.login)))
    case .session(let session)?:
      if let flaw = session.flaw(of: person.accountID) { return .wrong(flaw) }
      person.accountID = session.account.id
      person.signedIn(session, atNanos: nowNanos)
      return .done
    case let answer?: return answer.surprise
    }
  }
}

/// Opens a session that needs no address, or by the person's ID token.
struct OpenSession: Work {
  let person: Person

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch answer {
    case nil: return .call(.signIn(person.token.map(Credential.provider) ?? .anonymous))
    case .session(let session)?:
      if let flaw = session.flaw(of: nil) { return .wrong(flaw) }
      person.accountID = session.account.id
      person.session = session
      return .done
    case let answer?: return answer.surprise
    }
  }
}

/// Makes an account and a custom token that opens it.
struct MakeCustomToken: Work {
  private var account: MakeAccount
  private let person: Person

  init(_ person: Person) {
    self.person = person
    account = MakeAccount(person: person)
  }

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    if case .customToken(let token)? = answer {
      person.customToken = token
      return token.isEmpty ? .wrong("an empty custom token") : .done
    }
    let step = account.next(answer, nowNanos: nowNanos)
    guard case .done = step, let accountID = person.accountID else { return step }
    return .call(.createCustomToken(accountID: accountID))
  }
}

/// Takes over an account whose address is proved, and opens it.
struct MakeProved: Work {
  let person: Person

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    let accountID = person.accountID ?? ""
    switch answer {
    case nil: return .call(.importAccounts([ImportRow(accountID: accountID, email: person.login.email)]))
    case .imported(let facts)?:
      guard facts.imported == 1 else { return .wrong("an account that was not taken over") }
      return .call(.createCustomToken(accountID: accountID))
    case .customToken(let token)?:
      person.customToken = token
      return token.isEmpty ? .wrong("an empty custom token") : .call(.signIn(person.credential))
    case .session(let session)?:
      if let flaw = session.flaw(of: accountID) { return .wrong(flaw) }
      person.signedIn(session, atNanos: nowNanos)
      return .done
    case let answer?: return answer.surprise
    }
  }
}
