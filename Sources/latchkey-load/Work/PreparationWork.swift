internal import API

// Iterations that create the users of a run.

extension Step {
  /// Creates an account with a password, or signs in if the account exists from an earlier run.
  static func makeAccount(_ user: LoadUser, _ then: @escaping () -> Step = { .done }) -> Step {
    let opened = { (response: any SessionResponse, nowNanos: Int64) in
      response.session(of: user.accountID) {
        user.accountID = $0.accountID
        user.signedIn($0, atNanos: nowNanos)
        return then()
      }
    }
    guard user.accountID == nil else {
      return .call(AuthRPC.signIn, SignInRequest(credential: .password(user.login))) { opened($0, $1) }
    }
    let request = CreateRequest(email: user.login.email, password: user.login.password)
    return .call(AccountRPC.create, request) { opened($0, $1) }
  }

  /// Signs in with the user's provider token, or anonymously if there is none.
  static func openSession(_ user: LoadUser) -> Step {
    let credential = user.token.idToken.isEmpty ? Credential.anonymous : .provider(user.token)
    return .call(AuthRPC.signIn, SignInRequest(credential: credential)) { response, _ in
      response.session(of: nil) {
        user.accountID = $0.accountID
        user.keep($0)
        return .done
      }
    }
  }

  /// Creates an account and a custom token for it.
  static func makeCustomToken(_ user: LoadUser) -> Step {
    makeAccount(user) {
      customToken(user) {
        user.customToken = $0
        return .done
      }
    }
  }

  /// Imports an account with a verified email address and signs in to it.
  static func makeVerified(_ user: LoadUser) -> Step {
    imported(ImportedAccount(accountID: user.accountID ?? "", email: user.login.email, emailVerified: true)) {
      customToken(user) {
        user.customToken = $0
        return withNewLogin(user)
      }
    }
  }
}
