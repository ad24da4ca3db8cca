internal import Callers
internal import Identity
internal import Store
internal import API
internal import Protobuf

/// latchkey.v1.SessionService: refreshes, verifies, lists and ends sessions.
package struct SessionService: Sendable {
  private let shared: HandlerContext
  private let signingKeys: @Sendable () -> String

  /// Creates the service.
  ///
  /// - Parameter signingKeys: returns the current JSON Web Key Set.
  package init(_ shared: HandlerContext, signingKeys: @escaping @Sendable () -> String) {
    self.shared = shared
    self.signingKeys = signingKeys
  }

  package var methods: [Method] {
    [
      refresh, signOut, revokeAll, endSession, listSessions, verifyIDToken, createSessionCookie, verifySessionCookie,
      getSigningKeys,
    ]
  }

  private var refresh: Method {
    .unary(SessionRPC.refresh) { request, message, context, _ in
      let call = try shared.facts(
        context, message, client: request.client,
        idempotencyKey: IdempotencyKey(request.idempotencyKey, of: RefreshRequest.self))
      let token = try Shape.token(request.refreshToken, "refresh_token")
      let refresh = Refresh(shared.environment)
      return .task {
        do {
          let grant = try await refresh(token, call)
          // A refresh presents no credential, so other sessions have no outcome.
          if grant.secondFactorDuty.isOverdue { call.notes?.ended(.restrictedSession) }
          return RefreshResponse(session: API.Session(grant))
        } catch {
          throw shared.noted(error, FailedAttempt("Refresh"), call)
        }
      }
    }
  }

  private var signOut: Method {
    .unary(SessionRPC.signOut) { request, message, context, _ in
      let call = try shared.facts(context, message, client: request.client)
      let order: Identity.SignOutRequest
      switch (request.idToken.isEmpty, request.refreshToken.isEmpty, request.sessionCookie.isEmpty) {
      case (false, true, true): order = .idToken(try Shape.token(request.idToken, "id_token"))
      case (true, false, true): order = .refreshToken(try Shape.token(request.refreshToken, "refresh_token"))
      case (true, true, false): order = .sessionCookie(try Shape.token(request.sessionCookie, "session_cookie"))
      case (true, true, true): throw Shape.invalid("id_token", "Set id_token, refresh_token or session_cookie.")
      case (_, _, let hasNoCookie):
        throw Shape.invalid(hasNoCookie ? "refresh_token" : "session_cookie", "Set only one of the tokens.")
      }
      let signOut = SignOut(shared.environment)
      return .task {
        try await signOut(order, call)
        return SignOutResponse()
      }
    }
  }

  private var revokeAll: Method {
    .unary(SessionRPC.revokeAll) { request, message, context, _ in
      let call = try shared.facts(context, message, client: request.client)
      let idToken = try Shape.token(request.idToken, "id_token")
      let revokeAll = RevokeAll(shared.environment)
      return .task { RevokeAllResponse(closed: Int32(clamping: try await revokeAll(idToken: idToken, call))) }
    }
  }

  private var endSession: Method {
    .unary(SessionRPC.endSession) { request, message, context, _ in
      let call = try shared.facts(context, message, client: request.client)
      let sessionID = try Shape.required(request.sessionID, "session_id", bytesMax: Shape.sessionIDBytesMax)
      let requester = try SessionService.requester(request.idToken, context)
      let endSession = EndSession(shared.environment)
      return .task { EndSessionResponse(ended: try await endSession(sessionID, for: requester, call)) }
    }
  }

  /// Without an ID token, the call is an administrator's.
  private static func requester(_ idToken: String, _ context: CallContext) throws -> EndSession.Requester {
    guard idToken.isEmpty else { return .user(idToken: try Shape.token(idToken, "id_token")) }
    guard context.caller.rights.include(path: AdminRPC.revokeSessions.path) else {
      throw Failure(
        .callerNotAllowed,
        hint: "Set id_token, or ask the operator to grant AdminService/RevokeSessions to the caller.")
    }
    return .administrator
  }

  private var listSessions: Method {
    .unary(SessionRPC.listSessions, isLookUp: true) {
      request, message, context, arena in
      let call = try shared.facts(context, message)
      let reading = try ListSessions(shared.environment, idToken: try Shape.token(request.idToken, "id_token"), call)
      return try shared.read(reading, arena) { ListSessionsResponse(sessions: $0.map(SessionInfo.init)) }
    }
  }

  private var verifyIDToken: Method {
    .unary(SessionRPC.verifyIDToken, isLookUp: true) {
      request, message, context, arena in
      let call = try shared.facts(context, message)
      let reading = try VerifyIDToken(
        shared.environment, .idToken(try Shape.token(request.idToken, "id_token")), call)
      return try shared.read(reading, arena) { status in
        switch status {
        case .active(let accountID, let claims):
          VerifyIdTokenResponse(active: true, accountID: accountID, claimsJSON: claims)
        case .inactive(let reason): VerifyIdTokenResponse(inactiveReason: ErrorReason(reason))
        }
      }
    }
  }

  private var createSessionCookie: Method {
    .unary(SessionRPC.createSessionCookie) { request, message, context, _ in
      let call = try shared.facts(
        context, message, client: request.client,
        idempotencyKey: IdempotencyKey(request.idempotencyKey, of: API.CreateSessionCookieRequest.self))
      let idToken = try Shape.token(request.idToken, "id_token")
      let millis = Int64(request.validForSeconds) * 1_000
      guard Policy.sessionCookieMillis.contains(millis) else {
        throw Shape.invalid("valid_for_seconds", "Set valid_for_seconds to 300 (5 minutes) to 1209600 (14 days).")
      }
      let create = CreateSessionCookie(shared.environment)
      return .task {
        let cookie = try await create(idToken: idToken, validForMillis: millis, call)
        return CreateSessionCookieResponse(
          sessionCookie: cookie.text, expiresAtMillis: cookie.expiresAt.millis, sessionID: cookie.sessionID)
      }
    }
  }

  private var verifySessionCookie: Method {
    .unary(SessionRPC.verifySessionCookie, isLookUp: true) {
      request, message, context, arena in
      let call = try shared.facts(context, message)
      let reading = try VerifyIDToken(
        shared.environment, .sessionCookie(try Shape.token(request.sessionCookie, "session_cookie")), call)
      return try shared.read(reading, arena) { status in
        switch status {
        case .active(let accountID, let claims):
          VerifySessionCookieResponse(active: true, accountID: accountID, claimsJSON: claims)
        case .inactive(let reason): VerifySessionCookieResponse(inactiveReason: ErrorReason(reason))
        }
      }
    }
  }

  private var getSigningKeys: Method {
    .unary(SessionRPC.getSigningKeys, isLookUp: true) { _, _, _, arena in
      .answer(GetSigningKeysResponse(jwksJSON: signingKeys()).encode(arena: arena))
    }
  }
}
