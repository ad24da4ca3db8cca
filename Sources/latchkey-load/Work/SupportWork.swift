internal import API

// Workloads of AdminService that help a user.

extension Step {
  static func listEvents(_ user: LoadUser) -> Step {
    .call(AdminRPC.listEvents, ListEventsRequest(subject: .accountID(user.accountID ?? ""))) { response, _ in
      guard response.accountID == user.accountID else { return .wrong("the events are of another account") }
      return response.events.isEmpty ? .wrong("the account has no events") : .done
    }
  }

  static func diagnose(_ user: LoadUser) -> Step {
    .call(AdminRPC.diagnoseSignIn, DiagnoseSignInRequest(subject: .email(user.login.email))) { response, _ in
      account(response.account, is: user.accountID) { _ in
        response.cause == .nothingFound ? .done : .wrong("the cause is \(response.cause?.name ?? "unknown")")
      }
    }
  }

  static func unlock(_ user: LoadUser) -> Step {
    .call(AdminRPC.unlock, UnlockRequest(subject: .email(user.login.email))) { response, _ in
      response.lifted.isEmpty ? .done : .wrong("the account was blocked")
    }
  }

  static func accountSessions(_ user: LoadUser) -> Step {
    .call(AdminRPC.listSessions, AdminServiceListSessionsRequest(accountID: user.accountID ?? "")) { response, _ in
      response.sessions.isEmpty ? .wrong("the account has no session") : .done
    }
  }

  static func listMessages(_ user: LoadUser) -> Step {
    .call(AdminRPC.listMessages, ListMessagesRequest(accountID: user.accountID ?? "")) { response, _ in
      response.messages.allSatisfy { !$0.messageID.isEmpty } ? .done : .wrong("a message has no ID")
    }
  }
}
