// Iterations that create the users of a run.

/// An iteration that creates an account with a password, or signs in if the account exists from an earlier run.
struct MakeAccount: Work {
  let user: LoadUser

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch answer {
    case nil: return .call(user.accountID == nil ? .create(user.login) : .signIn(.password(user.login)))
    case .session(let session)?:
      if let flaw = session.flaw(of: user.accountID) { return .wrong(flaw) }
      user.accountID = session.account.id
      user.signedIn(session, atNanos: nowNanos)
      return .done
    case let answer?: return answer.surprise
    }
  }
}

/// An iteration that signs in with the user's provider token, or anonymously if there is none.
struct OpenSession: Work {
  let user: LoadUser

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch answer {
    case nil: return .call(.signIn(user.token.map(Credential.provider) ?? .anonymous))
    case .session(let session)?:
      if let flaw = session.flaw(of: nil) { return .wrong(flaw) }
      user.accountID = session.account.id
      user.session = session
      return .done
    case let answer?: return answer.surprise
    }
  }
}

/// An iteration that creates an account and a custom token for it.
struct MakeCustomToken: Work {
  private var account: MakeAccount
  private let user: LoadUser

  init(_ user: LoadUser) {
    self.user = user
    account = MakeAccount(user: user)
  }

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    if case .customToken(let token)? = answer {
      user.customToken = token
      return token.isEmpty ? .wrong("an empty custom token") : .done
    }
    let step = account.next(answer, nowNanos: nowNanos)
    guard case .done = step, let accountID = user.accountID else { return step }
    return .call(.createCustomToken(accountID: accountID))
  }
}

/// An iteration that imports an account with a verified email address and signs in to it.
struct MakeVerified: Work {
  let user: LoadUser

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    let accountID = user.accountID ?? ""
    switch answer {
    case nil: return .call(.importAccounts([ImportRow(accountID: accountID, email: user.login.email)]))
    case .imported(let facts)?:
      guard facts.imported == 1 else { return .wrong("the account was not imported") }
      return .call(.createCustomToken(accountID: accountID))
    case .customToken(let token)?:
      user.customToken = token
      return token.isEmpty ? .wrong("an empty custom token") : .call(.signIn(user.credential))
    case .session(let session)?:
      if let flaw = session.flaw(of: accountID) { return .wrong(flaw) }
      user.signedIn(session, atNanos: nowNanos)
      return .done
    case let answer?: return answer.surprise
    }
  }
}
