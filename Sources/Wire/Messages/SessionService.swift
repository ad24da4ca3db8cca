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
