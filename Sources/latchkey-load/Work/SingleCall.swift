/// An iteration of one call, with a check of its response.
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
      return count > 0 ? .done : .wrong("the key set is empty")
    }
  }

  static func listProviders(_ wish: FlowWish) -> SingleCall {
    SingleCall(.listProviders) { answer in
      guard case .providers(let ids) = answer else { return answer.surprise }
      return ids.contains(wish.providerID) ? .done : .wrong("the provider is missing")
    }
  }

  static func startFlow(_ wish: FlowWish) -> SingleCall {
    SingleCall(.startFlow(wish)) { answer in
      guard case .flow(let id, let url) = answer else { return answer.surprise }
      guard !id.isEmpty, url.hasPrefix("https://") else { return .wrong("the flow has no ID or no URL") }
      return url.contains(id) ? .wrong("the URL contains the flow ID") : .done
    }
  }

  static var signInAnonymous: SingleCall {
    SingleCall(.signIn(.anonymous)) { answer in
      guard case .session(let session) = answer else { return answer.surprise }
      if let flaw = session.flaw(of: nil) { return .wrong(flaw) }
      return session.isNew && session.account.isAnonymous ? .done : .wrong("the account is not new and anonymous")
    }
  }

  /// Fetches the sign-in methods of an email address.
  ///
  /// - Parameter method: a sign-in method that the account has; nil if any is correct.
  static func fetch(email: String, method: String?) -> SingleCall {
    SingleCall(.fetch(email: email)) { answer in
      guard case .ways(let registered, let methods, _) = answer else { return answer.surprise }
      guard registered else { return .wrong("the email address of an account is not registered") }
      let isThere = method.map(methods.contains) ?? !methods.isEmpty
      return isThere ? .done : .wrong("a sign-in method is missing")
    }
  }

  static func signIn(_ credential: Credential, as user: LoadUser) -> SingleCall {
    SingleCall(.signIn(credential)) { answer in
      guard case .session(let session) = answer else { return answer.surprise }
      if let flaw = session.flaw(of: user.accountID) { return .wrong(flaw) }
      return session.isNew ? .wrong("the account is new") : .done
    }
  }

  static func refresh(_ user: LoadUser) -> SingleCall {
    SingleCall(.refresh(refreshToken: user.session?.refreshToken ?? "")) { answer in
      guard case .session(let session) = answer else { return answer.surprise }
      if let flaw = session.flaw(of: user.accountID) { return .wrong(flaw) }
      defer { user.session = session }
      return session.refreshToken == user.session?.refreshToken ? .wrong("the refresh token is as before") : .done
    }
  }

  static func reauthenticate(_ user: LoadUser) -> SingleCall {
    let idToken = user.session?.idToken ?? ""
    return SingleCall(.reauthenticate(idToken: idToken, .password(user.login))) { answer in
      guard case .session(let session) = answer else { return answer.surprise }
      return session.flaw(of: user.accountID).map(Step.wrong) ?? .done
    }
  }

  static func get(_ user: LoadUser) -> SingleCall {
    SingleCall(.get(idToken: user.session?.idToken ?? "")) { answer in
      guard case .account(let account) = answer else { return answer.surprise }
      return account.id == user.accountID ? .done : .wrong("another account")
    }
  }

  static func verify(_ user: LoadUser) -> SingleCall {
    SingleCall(.verify(idToken: user.session?.idToken ?? "")) { answer in
      guard case .verdict(let active, let accountID, let reason) = answer else { return answer.surprise }
      guard active else { return .wrong("a valid token is reported as \(reason)") }
      return accountID == user.accountID ? .done : .wrong("another account")
    }
  }

  static func lookup(_ user: LoadUser) -> SingleCall {
    SingleCall(.lookup(email: user.login.email)) { answer in
      guard case .account(let account) = answer else { return answer.surprise }
      return account.id == user.accountID ? .done : .wrong("another account")
    }
  }

  static func customToken(_ user: LoadUser) -> SingleCall {
    SingleCall(.createCustomToken(accountID: user.accountID ?? "")) { answer in
      guard case .customToken(let token) = answer else { return answer.surprise }
      return token.isEmpty ? .wrong("an empty custom token") : .done
    }
  }

  static func update(_ user: LoadUser, displayName: String) -> SingleCall {
    SingleCall(.update(idToken: user.session?.idToken ?? "", displayName: displayName)) { answer in
      guard case .session(let session) = answer else { return answer.surprise }
      if let flaw = session.flaw(of: user.accountID) { return .wrong(flaw) }
      user.session = session
      return session.account.displayName == displayName ? .done : .wrong("another display name")
    }
  }

  static func listSessions(_ user: LoadUser) -> SingleCall {
    SingleCall(.listSessions(idToken: user.session?.idToken ?? "")) { answer in
      guard case .sessions(let sessions) = answer else { return answer.surprise }
      let current = sessions.filter(\.isCurrent).map(\.id)
      return current == [user.session?.id] ? .done : .wrong("the caller's session is not the current one")
    }
  }
}
