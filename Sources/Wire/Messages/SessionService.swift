// The meaning of each field stands in proto/latchkey/v1/session_service.proto.

internal import Messages

package struct RefreshRequest: Sendable, Equatable {
  package var refreshToken: String
  package var client: ClientContext?

  package init(refreshToken: String = "", client: ClientContext? = nil) {
    self.refreshToken = refreshToken
    self.client = client
  }
}

extension RefreshRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__RefreshRequest> { unsafe latchkey__v1__refresh_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__RefreshRequest>) {
    unsafe self.init(refreshToken: text(form.pointee.refresh_token), client: one(form.pointee.client))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__RefreshRequest>, _ arena: Arena) {
    unsafe form.pointee.refresh_token = arena.text(refreshToken)
    unsafe form.pointee.client = arena.one(client)
  }
}

package struct RefreshResponse: Sendable, Equatable {
  package var session: Session?

  package init(session: Session? = nil) {
    self.session = session
  }
}

extension RefreshResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__RefreshResponse> { unsafe latchkey__v1__refresh_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__RefreshResponse>) {
    unsafe self.init(session: one(form.pointee.session))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__RefreshResponse>, _ arena: Arena) {
    unsafe form.pointee.session = arena.one(session)
  }
}

package struct SignOutRequest: Sendable, Equatable {
  package var idToken: String
  package var refreshToken: String
  package var client: ClientContext?

  package init(idToken: String = "", refreshToken: String = "", client: ClientContext? = nil) {
    self.idToken = idToken
    self.refreshToken = refreshToken
    self.client = client
  }
}

extension SignOutRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__SignOutRequest> { unsafe latchkey__v1__sign_out_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__SignOutRequest>) {
    unsafe self.init(
      idToken: text(form.pointee.id_token), refreshToken: text(form.pointee.refresh_token),
      client: one(form.pointee.client))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__SignOutRequest>, _ arena: Arena) {
    unsafe form.pointee.id_token = arena.text(idToken)
    unsafe form.pointee.refresh_token = arena.text(refreshToken)
    unsafe form.pointee.client = arena.one(client)
  }
}

package struct SignOutResponse: Sendable, Equatable {
  package init() {}
}

extension SignOutResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__SignOutResponse> { unsafe latchkey__v1__sign_out_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__SignOutResponse>) {}

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__SignOutResponse>, _ arena: Arena) {}
}

package struct VerifyIdTokenRequest: Sendable, Equatable {
  package var idToken: String

  package init(idToken: String = "") {
    self.idToken = idToken
  }
}

extension VerifyIdTokenRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__VerifyIdTokenRequest> { unsafe latchkey__v1__verify_id_token_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__VerifyIdTokenRequest>) {
    unsafe self.init(idToken: text(form.pointee.id_token))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__VerifyIdTokenRequest>, _ arena: Arena) {
    unsafe form.pointee.id_token = arena.text(idToken)
  }
}

package struct VerifyIdTokenResponse: Sendable, Equatable {
  package var active: Bool
  package var accountID: String
  package var claimsJSON: String
  package var inactiveReason: String

  package init(active: Bool = false, accountID: String = "", claimsJSON: String = "", inactiveReason: String = "") {
    self.active = active
    self.accountID = accountID
    self.claimsJSON = claimsJSON
    self.inactiveReason = inactiveReason
  }
}

extension VerifyIdTokenResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__VerifyIdTokenResponse> { unsafe latchkey__v1__verify_id_token_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__VerifyIdTokenResponse>) {
    unsafe self.init(
      active: form.pointee.active != 0, accountID: text(form.pointee.account_id),
      claimsJSON: text(form.pointee.claims_json), inactiveReason: text(form.pointee.inactive_reason))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__VerifyIdTokenResponse>, _ arena: Arena) {
    unsafe form.pointee.active = active ? 1 : 0
    unsafe form.pointee.account_id = arena.text(accountID)
    unsafe form.pointee.claims_json = arena.text(claimsJSON)
    unsafe form.pointee.inactive_reason = arena.text(inactiveReason)
  }
}

package struct GetSigningKeysRequest: Sendable, Equatable {
  package init() {}
}

extension GetSigningKeysRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__GetSigningKeysRequest> { unsafe latchkey__v1__get_signing_keys_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__GetSigningKeysRequest>) {}

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__GetSigningKeysRequest>, _ arena: Arena) {}
}

package struct GetSigningKeysResponse: Sendable, Equatable {
  package var jwksJSON: String

  package init(jwksJSON: String = "") {
    self.jwksJSON = jwksJSON
  }
}

extension GetSigningKeysResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__GetSigningKeysResponse> { unsafe latchkey__v1__get_signing_keys_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__GetSigningKeysResponse>) {
    unsafe self.init(jwksJSON: text(form.pointee.jwks_json))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__GetSigningKeysResponse>, _ arena: Arena) {
    unsafe form.pointee.jwks_json = arena.text(jwksJSON)
  }
}

package struct RevokeAllRequest: Sendable, Equatable {
  package var idToken: String
  package var client: ClientContext?

  package init(idToken: String = "", client: ClientContext? = nil) {
    self.idToken = idToken
    self.client = client
  }
}

extension RevokeAllRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__RevokeAllRequest> { unsafe latchkey__v1__revoke_all_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__RevokeAllRequest>) {
    unsafe self.init(idToken: text(form.pointee.id_token), client: one(form.pointee.client))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__RevokeAllRequest>, _ arena: Arena) {
    unsafe form.pointee.id_token = arena.text(idToken)
    unsafe form.pointee.client = arena.one(client)
  }
}

package struct RevokeAllResponse: Sendable, Equatable {
  package var closed: Int32

  package init(closed: Int32 = 0) {
    self.closed = closed
  }
}

extension RevokeAllResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__RevokeAllResponse> { unsafe latchkey__v1__revoke_all_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__RevokeAllResponse>) {
    unsafe self.init(closed: form.pointee.closed)
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__RevokeAllResponse>, _ arena: Arena) {
    unsafe form.pointee.closed = closed
  }
}

package struct ListSessionsRequest: Sendable, Equatable {
  package var idToken: String

  package init(idToken: String = "") {
    self.idToken = idToken
  }
}

extension ListSessionsRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ListSessionsRequest> { unsafe latchkey__v1__list_sessions_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__ListSessionsRequest>) {
    unsafe self.init(idToken: text(form.pointee.id_token))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ListSessionsRequest>, _ arena: Arena) {
    unsafe form.pointee.id_token = arena.text(idToken)
  }
}

package struct ListSessionsResponse: Sendable, Equatable {
  package var sessions: [SessionInfo]

  package init(sessions: [SessionInfo] = []) {
    self.sessions = sessions
  }
}

extension ListSessionsResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ListSessionsResponse> { unsafe latchkey__v1__list_sessions_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__ListSessionsResponse>) {
    unsafe self.init(sessions: list(form.pointee.n_sessions, form.pointee.sessions))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ListSessionsResponse>, _ arena: Arena) {
    unsafe (form.pointee.n_sessions, form.pointee.sessions) = arena.list(sessions)
  }
}

package struct SessionInfo: Sendable, Equatable {
  package var sessionID: String
  package var signInProvider: String
  package var signedInAtMillis: Int64?
  package var lastUsedAtMillis: Int64?
  package var client: ClientContext?
  package var current: Bool

  package init(
    sessionID: String = "", signInProvider: String = "", signedInAtMillis: Int64? = nil,
    lastUsedAtMillis: Int64? = nil, client: ClientContext? = nil, current: Bool = false
  ) {
    self.sessionID = sessionID
    self.signInProvider = signInProvider
    self.signedInAtMillis = signedInAtMillis
    self.lastUsedAtMillis = lastUsedAtMillis
    self.client = client
    self.current = current
  }
}

extension SessionInfo: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__SessionInfo> { unsafe latchkey__v1__session_info__init }

  init(_ form: UnsafePointer<Latchkey__V1__SessionInfo>) {
    unsafe self.init(
      sessionID: text(form.pointee.session_id), signInProvider: text(form.pointee.sign_in_provider),
      signedInAtMillis: millis(form.pointee.signed_in_at), lastUsedAtMillis: millis(form.pointee.last_used_at),
      client: one(form.pointee.client), current: form.pointee.current != 0)
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__SessionInfo>, _ arena: Arena) {
    unsafe form.pointee.session_id = arena.text(sessionID)
    unsafe form.pointee.sign_in_provider = arena.text(signInProvider)
    unsafe form.pointee.signed_in_at = arena.timestamp(signedInAtMillis)
    unsafe form.pointee.last_used_at = arena.timestamp(lastUsedAtMillis)
    unsafe form.pointee.client = arena.one(client)
    unsafe form.pointee.current = current ? 1 : 0
  }
}
