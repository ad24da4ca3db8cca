internal import API
internal import Reactor

// Workloads of AccountService.

extension Step {
  static func createDelete(_ login: PasswordCredential) -> Step {
    .call(AccountRPC.create, CreateRequest(email: login.email, password: login.password)) { response, _ in
      response.session(of: nil) { session in
        guard session.account?.email == login.email else { return .wrong("the account has another address") }
        return .call(AccountRPC.delete, DeleteRequest(idToken: session.idToken)) { _, _ in .done }
      }
    }
  }

  static func get(_ user: LoadUser) -> Step {
    .call(AccountRPC.get, GetRequest(idToken: user.idToken)) { response, _ in
      account(response.account, is: user.accountID)
    }
  }

  static func update(_ user: LoadUser, displayName: String) -> Step {
    let request = UpdateRequest(
      idToken: user.idToken, account: Account(displayName: displayName), updateMask: FieldMask(paths: ["display_name"]))
    return .call(AccountRPC.update, request) { response, _ in
      response.session(of: user.accountID) { session in
        user.keep(session)
        return session.account?.displayName == displayName ? .done : .wrong("another display name")
      }
    }
  }

  /// Merges a new anonymous account into the user's account.
  static func merge(_ user: LoadUser, atNanos nowNanos: Int64 = monotonicNanos()) -> Step {
    withRecentLogin(user, atNanos: nowNanos) {
      withAnonymousSession { anonymous in
        let request = MergeRequest(survivorIDToken: user.idToken, otherIDToken: anonymous.idToken)
        return .call(AccountRPC.merge, request) { response, _ in
          guard response.session != nil else { return .wrong("the merge reports a conflict") }
          return response.session(of: user.accountID) { session in
            guard response.closedAccountID == anonymous.accountID else { return .wrong("another account was closed") }
            user.keep(session)
            return verifyEnd(of: anonymous)
          }
        }
      }
    }
  }
}
