internal import Identity
internal import API

/// latchkey.v1.SessionService: keeping, checking and ending a session.
package struct SessionService: Sendable {
  private let desk: Desk
  private let signingKeys: @Sendable () -> String

  /// - Parameter signingKeys: the JSON Web Key Set as it is now.
  package init(_ desk: Desk, signingKeys: @escaping @Sendable () -> String) {
    self.desk = desk
    self.signingKeys = signingKeys
  }

  package var methods: [Method] { [refresh, signOut, revokeAll, listSessions, verifyIDToken, getSigningKeys] }

  private var refresh: Method {
    .unary(SessionRPC.refresh) { request, message, context, _ in
      let call = try desk.facts(
        context, message, client: request.client,
        idempotencyKey: IdempotencyKey(request.idempotencyKey, of: RefreshRequest.self))
      let token = try Shape.token(request.refreshToken, "refresh_token")
      let refresh = Refresh(desk.environment)
      return .task { RefreshResponse(session: API.Session(try await refresh(token, call))) }
    }
  }

  private var signOut: Method {
    .unary(SessionRPC.signOut) { request, message, context, _ in
      let call = try desk.facts(context, message, client: request.client)
      let order: Identity.SignOutRequest
      switch (request.idToken.isEmpty, request.refreshToken.isEmpty) {
      case (false, true): order = .idToken(try Shape.token(request.idToken, "id_token"))
      case (true, false): order = .refreshToken(try Shape.token(request.refreshToken, "refresh_token"))
      case (true, true): throw Shape.invalid("id_token", "An ID token or a refresh token must be given.")
      case (false, false): throw Shape.invalid("refresh_token", "Only one of the two tokens may be given.")
      }
      let signOut = SignOut(desk.environment)
      return .task {
        try await signOut(order, call)
        return SignOutResponse()
      }
    }
  }

  private var revokeAll: Method {
    .unary(SessionRPC.revokeAll) { request, message, context, _ in
      let call = try desk.facts(context, message, client: request.client)
      let idToken = try Shape.token(request.idToken, "id_token")
      let revokeAll = RevokeAll(desk.environment)
      return .task { RevokeAllResponse(closed: Int32(clamping: try await revokeAll(idToken: idToken, call))) }
    }
  }

  private var listSessions: Method {
    .unary(SessionRPC.listSessions, isLookUp: true) {
      request, message, context, arena in
      let call = try desk.facts(context, message)
      let reading = try ListSessions(desk.environment, idToken: try Shape.token(request.idToken, "id_token"), call)
      return try desk.read(reading, arena) { ListSessionsResponse(sessions: $0.map(SessionInfo.init)) }
    }
  }

  private var verifyIDToken: Method {
    .unary(SessionRPC.verifyIDToken, isLookUp: true) {
      request, message, context, arena in
      let call = try desk.facts(context, message)
      let reading = try VerifyIDToken(
        desk.environment, idToken: try Shape.token(request.idToken, "id_token"), call)
      return try desk.read(reading, arena) { status in
        switch status {
        case .active(let accountID, let claims):
          VerifyIdTokenResponse(active: true, accountID: accountID, claimsJSON: claims)
        case .inactive(let reason): VerifyIdTokenResponse(inactiveReason: reason.rawValue)
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
