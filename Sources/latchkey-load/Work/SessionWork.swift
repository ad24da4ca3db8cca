internal import API

// Workloads of SessionService, and those of AdminService that end sessions.

extension Step {
  static func refresh(_ user: LoadUser) -> Step {
    .call(SessionRPC.refresh, RefreshRequest(refreshToken: user.refreshToken)) { response, _ in
      response.session(of: user.accountID) { session in
        defer { user.keep(session) }
        return session.refreshToken == user.refreshToken ? .wrong("the refresh token is as before") : .done
      }
    }
  }

  static func verify(_ user: LoadUser) -> Step {
    .call(SessionRPC.verifyIDToken, VerifyIdTokenRequest(idToken: user.idToken)) { verdict, _ in
      guard verdict.active else {
        return .wrong("a valid token is reported as \(verdict.inactiveReason?.name ?? "")")
      }
      return verdict.accountID == user.accountID ? .done : .wrong("another account")
    }
  }

  static func listSessions(_ user: LoadUser) -> Step {
    .call(SessionRPC.listSessions, ListSessionsRequest(idToken: user.idToken)) { response, _ in
      let current = response.sessions.filter(\.current).map(\.sessionID)
      return current == [user.sessionID] ? .done : .wrong("the caller's session is not the current one")
    }
  }

  // Each of these iterations ends the session of a new anonymous account, and checks that it has ended.

  static var signOut: Step {
    withAnonymousSession { session in
      .call(SessionRPC.signOut, SignOutRequest(idToken: session.idToken)) { _, _ in verifyEnd(of: session) }
    }
  }

  static var revokeAll: Step {
    withAnonymousSession { session in
      .call(SessionRPC.revokeAll, RevokeAllRequest(idToken: session.idToken)) { response, _ in
        verifyEnd(of: session, closed: response.closed)
      }
    }
  }

  static var endSession: Step {
    withAnonymousSession { session in
      let request = EndSessionRequest(idToken: session.idToken, sessionID: session.sessionID)
      return .call(SessionRPC.endSession, request) { response, _ in
        response.ended ? verifyEnd(of: session) : .wrong("there was no open session")
      }
    }
  }

  /// Creates a session cookie in a session that has just begun, and verifies it.
  static var sessionCookie: Step {
    withAnonymousSession { session in
      let request = CreateSessionCookieRequest(idToken: session.idToken, validForSeconds: 300)
      return .call(SessionRPC.createSessionCookie, request) { response, _ in
        verifyCookie(response.sessionCookie, of: session)
      }
    }
  }

  private static func verifyCookie(_ cookie: String, of session: Session) -> Step {
    .call(SessionRPC.verifySessionCookie, VerifySessionCookieRequest(sessionCookie: cookie)) { verdict, _ in
      guard verdict.active else { return .wrong("a valid cookie is reported as \(verdict.inactiveReason?.name ?? "")") }
      return verdict.accountID == session.accountID ? .done : .wrong("another account")
    }
  }

  static var revokeSessions: Step {
    withAnonymousSession { session in
      .call(AdminRPC.revokeSessions, RevokeSessionsRequest(accountID: session.accountID)) { response, _ in
        verifyEnd(of: session, closed: response.closed)
      }
    }
  }

  static var deleteAccount: Step {
    withAnonymousSession { session in
      .call(AdminRPC.deleteAccount, DeleteAccountRequest(accountID: session.accountID)) { _, _ in
        verifyEnd(of: session)
      }
    }
  }

  /// Disables the account, which ends its session, and enables it again.
  static var setDisabled: Step {
    withAnonymousSession { session in
      setDisabled(true, session, orElse: "the account is not disabled") {
        verifyEnd(of: session) { setDisabled(false, session, orElse: "the account is still disabled") { .done } }
      }
    }
  }

  private static func setDisabled(
    _ disabled: Bool, _ session: Session, orElse flaw: String, _ then: @escaping () -> Step
  ) -> Step {
    let request = SetDisabledRequest(accountID: session.accountID, disabled: disabled)
    return .call(AdminRPC.setDisabled, request) { response, _ in
      account(response.account, is: session.accountID) { $0.disabled == disabled ? then() : .wrong(flaw) }
    }
  }

  /// Checks that a session has ended.
  ///
  /// - Parameter closed: the number of sessions that have ended, which must be 1.
  static func verifyEnd(of session: Session, closed: Int32 = 1, _ then: @escaping () -> Step = { .done }) -> Step {
    guard closed == 1 else { return .wrong("\(closed) sessions ended instead of one") }
    return .call(SessionRPC.verifyIDToken, VerifyIdTokenRequest(idToken: session.idToken)) { verdict, _ in
      verdict.active ? .wrong("the session is still open") : then()
    }
  }
}
