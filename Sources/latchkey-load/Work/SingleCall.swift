/// An iteration of one call: what is asked, and what the answer must say.
struct SingleCall: Work {
  private let call: Call
  private let judge: (Answer) -> Step

  init(_ call: Call, _ judge: @escaping (Answer) -> Step) {
    self.call = call
    self.judge = judge
  }

  func next(_ answer: Answer?, nowNanos: Int64) -> Step { answer.map(judge) ?? .call(call) }
}

extension SingleCall {
  static var health: SingleCall {
    SingleCall(.health) { answer in
      guard case .serving(let isServing) = answer else { return answer.surprise }
      return isServing ? .done : .wrong("a status other than SERVING")
    }
  }

  static var watchHealth: SingleCall { SingleCall(.watchHealth, health.judge) }

  static var signingKeys: SingleCall {
    SingleCall(.signingKeys) { answer in
      guard case .signingKeys(let count) = answer else { return answer.surprise }
      return count > 0 ? .done : .wrong("a key set without a key")
    }
  }

  static func listProviders(_ wish: FlowWish) -> SingleCall {
    SingleCall(.listProviders) { answer in
      guard case .providers(let ids) = answer else { return answer.surprise }
      return ids.contains(wish.providerID) ? .done : .wrong("a provider is missing")
    }
  }

  static func startFlow(_ wish: FlowWish) -> SingleCall {
    SingleCall(.startFlow(wish)) { answer in
      guard case .flow(let id, let url) = answer else { return answer.surprise }
      guard !id.isEmpty, url.hasPrefix("https://") else { return .wrong("a flow without id or address") }
      return url.contains(id) ? .wrong("a flow's id in its address") : .done
    }
  }

  static var signInAnonymous: SingleCall {
    SingleCall(.signIn(.anonymous)) { answer in
      guard case .session(let session) = answer else { return answer.surprise }
      if let flaw = session.flaw(of: nil) { return .wrong(flaw) }
      return session.isNew && session.account.isAnonymous ? .done : .wrong("an account that is not new and anonymous")
    }
  }

  /// - Parameter method: one of the ways in that the account has; nil where only some are known to be there.
  static func fetch(email: String, method: String?) -> SingleCall {
    SingleCall(.fetch(email: email)) { answer in
      guard case .ways(let registered, let methods, _) = answer else { return answer.surprise }
      guard registered else { return .wrong("an address that has an account is not registered") }
      let isThere = method.map(methods.contains) ?? !methods.isEmpty
      return isThere ? .done : .wrong("a way in is missing")
    }
  }

  static func signIn(_ credential: Credential, as person: Person) -> SingleCall {
    SingleCall(.signIn(credential)) { answer in
      guard case .session(let session) = answer else { return answer.surprise }
      if let flaw = session.flaw(of: person.accountID) { return .wrong(flaw) }
      return session.isNew ? .wrong("an account that is new") : .done
    }
  }

  static func refresh(_ person: Person) -> SingleCall {
    SingleCall(.refresh(refreshToken: person.session?.refreshToken ?? "")) { answer in
      guard case .session(let session) = answer else { return answer.surprise }
      if let flaw = session.flaw(of: person.accountID) { return .wrong(flaw) }
      defer { person.session = session }
      return session.refreshToken == person.session?.refreshToken ? .wrong("the refresh token as before") : .done
    }
  }

  static func reauthenticate(_ person: Person) -> SingleCall {
    let idToken = person.session?.idToken ?? ""
    return SingleCall(.reauthenticate(idToken: idToken, .password(person.login))) { answer in
      guard case .session(let session) = answer else { return answer.surprise }
      return session.flaw(of: person.accountID).map(Step.wrong) ?? .done
    }
  }

  static func get(_ person: Person) -> SingleCall {
    SingleCall(.get(idToken: person.session?.idToken ?? "")) { answer in
      guard case .account(let account) = answer else { return answer.surprise }
      return account.id == person.accountID ? .done : .wrong("another account")
    }
  }

  static func verify(_ person: Person) -> SingleCall {
    SingleCall(.verify(idToken: person.session?.idToken ?? "")) { answer in
      guard case .verdict(let active, let accountID, let reason) = answer else { return answer.surprise }
      guard active else { return .wrong("a token that should be good is \(reason)") }
      return accountID == person.accountID ? .done : .wrong("another account")
    }
  }

  static func lookup(_ person: Person) -> SingleCall {
    SingleCall(.lookup(email: person.login.email)) { answer in
      guard case .account(let account) = answer else { return answer.surprise }
      return account.id == person.accountID ? .done : .wrong("another account")
    }
  }

  static func customToken(_ person: Person) -> SingleCall {
    SingleCall(.createCustomToken(accountID: person.accountID ?? "")) { answer in
      guard case .customToken(let token) = answer else { return answer.surprise }
      return token.isEmpty ? .wrong("an empty custom token") : .done
    }
  }

  static func update(_ person: Person, displayName: String) -> SingleCall {
    SingleCall(.update(idToken: person.session?.idToken ?? "", displayName: displayName)) { answer in
      guard case .session(let session) = answer else { return answer.surprise }
      if let flaw = session.flaw(of: person.accountID) { return .wrong(flaw) }
      person.session = session
      return session.account.displayName == displayName ? .done : .wrong("another name")
    }
  }

  static func listSessions(_ person: Person) -> SingleCall {
    SingleCall(.listSessions(idToken: person.session?.idToken ?? "")) { answer in
      guard case .sessions(let sessions) = answer else { return answer.surprise }
      let current = sessions.filter(\.isCurrent).map(\.id)
      return current == [person.session?.id] ? .done : .wrong("the session that asks is not the current one")
    }
  }
}
