internal import API
internal import Reactor

// Workloads of AuthService.

extension Step {
  /// Fetches the sign-in methods of an email address.
  ///
  /// - Parameter method: a sign-in method that the account has; nil if any is correct.
  static func fetch(email: String, method: String?) -> Step {
    .call(AuthRPC.fetchProviders, FetchProvidersRequest(subject: .email(email))) { response, _ in
      guard response.registered else { return .wrong("the email address of an account is not registered") }
      let isThere = method.map(response.signInMethods.contains) ?? !response.signInMethods.isEmpty
      return isThere ? .done : .wrong("a sign-in method is missing")
    }
  }

  static var signInAnonymous: Step {
    .call(AuthRPC.signIn, SignInRequest(credential: .anonymous)) { response, _ in
      response.session(of: nil) { session in
        let isNew = session.isNewAccount && session.account?.anonymous == true
        return isNew ? .done : .wrong("the account is not new and anonymous")
      }
    }
  }

  static func signIn(_ credential: Credential, as user: LoadUser) -> Step {
    .call(AuthRPC.signIn, SignInRequest(credential: credential)) { response, _ in
      response.session(of: user.accountID) { $0.isNewAccount ? .wrong("the account is new") : .done }
    }
  }

  static func reauthenticate(_ user: LoadUser) -> Step {
    let request = ReauthenticateRequest(idToken: user.idToken, credential: .password(user.login))
    return .call(AuthRPC.reauthenticate, request) { response, _ in response.session(of: user.accountID) }
  }

  /// Links the user's identity to an account with a password, and unlinks it.
  static func linkUnlink(_ user: LoadUser, atNanos nowNanos: Int64 = monotonicNanos()) -> Step {
    withRecentLogin(user, atNanos: nowNanos) {
      let request = LinkRequest(idToken: user.idToken, credential: .provider(user.token))
      return .call(AuthRPC.link, request) { response, _ in
        response.session(of: user.accountID) { session in
          user.keep(session)
          let isLinked = session.isLinked(to: user.token.providerID)
          return isLinked ? unlink(user) : .wrong("the account lacks the linked provider")
        }
      }
    }
  }

  /// Unlinks the identity, to restore the initial state.
  private static func unlink(_ user: LoadUser) -> Step {
    let request = UnlinkRequest(idToken: user.idToken, providerID: user.token.providerID)
    return .call(AuthRPC.unlink, request) { response, _ in
      response.session(of: user.accountID) { session in
        user.keep(session)
        let isLinked = session.isLinked(to: user.token.providerID)
        return isLinked ? .wrong("the account still has the unlinked provider") : .done
      }
    }
  }

  /// Signs in with an untrusted provider, whose email address belongs to the user's account with a password.
  ///
  /// The steps are the account-exists conflict, FetchProviders with the pending token, the completion with the
  /// password, and an unlink.
  static func conflict(_ user: LoadUser) -> Step {
    .call(AuthRPC.signIn, SignInRequest(credential: .provider(user.token))) { response, _ in
      if response.session != nil { return .wrong("a session although the address belongs to another account") }
      return response.conflict { exists in
        guard exists.email == user.login.email else { return .wrong("the conflict names another address") }
        return fetchPending(exists.pendingToken, of: user) { complete(exists.pendingToken, user) }
      }
    }
  }

  private static func complete(_ pendingToken: String, _ user: LoadUser) -> Step {
    let request = SignInRequest(credential: .password(user.login), pendingToken: pendingToken)
    return .call(AuthRPC.signIn, request) { response, _ in
      response.session(of: user.accountID) { session in
        user.keep(session)
        let isLinked = session.isLinked(to: user.token.providerID)
        return isLinked ? unlink(user) : .wrong("the completion did not link the provider")
      }
    }
  }

  /// The age at which a pending token is replaced. The server keeps a pending credential for ten minutes by default.
  private static let pendingTokenMaxNanos: Int64 = 480_000_000_000

  /// Fetches the pending credential of the user's pending token. Replaces the token before it expires.
  static func fetchPending(_ user: LoadUser, atNanos nowNanos: Int64 = monotonicNanos()) -> Step {
    if !user.pendingToken.isEmpty, nowNanos - user.pendingTokenNanos < pendingTokenMaxNanos {
      return fetchPending(user.pendingToken, of: user)
    }
    return .call(AuthRPC.signIn, SignInRequest(credential: .provider(user.token))) { response, nowNanos in
      response.conflict { exists in
        (user.pendingToken, user.pendingTokenNanos) = (exists.pendingToken, nowNanos)
        return fetchPending(exists.pendingToken, of: user)
      }
    }
  }

  private static func fetchPending(
    _ pendingToken: String, of user: LoadUser, _ then: @escaping () -> Step = { .done }
  ) -> Step {
    let request = FetchProvidersRequest(subject: .pendingToken(pendingToken))
    return .call(AuthRPC.fetchProviders, request) { response, _ in
      let pending = response.pending
      let isExpected = pending?.providerID == user.token.providerID && pending?.email == user.login.email
      return isExpected ? then() : .wrong("another pending credential")
    }
  }
}
