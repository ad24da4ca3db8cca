// The meaning of each field stands in proto/latchkey/v1/verification_service.proto.

internal import Messages

package struct SendPasswordResetRequest: Sendable, Equatable {
  package var email: String
  package var continueURI: String
  package var locale: String
  package var client: ClientContext?

  package init(email: String = "", continueURI: String = "", locale: String = "", client: ClientContext? = nil) {
    self.email = email
    self.continueURI = continueURI
    self.locale = locale
    self.client = client
  }
}

extension SendPasswordResetRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__SendPasswordResetRequest> {
    unsafe latchkey__v1__send_password_reset_request__init
  }

  init(_ form: UnsafePointer<Latchkey__V1__SendPasswordResetRequest>) {
    unsafe self.init(
      email: text(form.pointee.email), continueURI: text(form.pointee.continue_uri), locale: text(form.pointee.locale),
      client: one(form.pointee.client))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__SendPasswordResetRequest>, _ arena: Arena) {
    unsafe form.pointee.email = arena.text(email)
    unsafe form.pointee.continue_uri = arena.text(continueURI)
    unsafe form.pointee.locale = arena.text(locale)
    unsafe form.pointee.client = arena.one(client)
  }
}

package struct SendPasswordResetResponse: Sendable, Equatable {
  package var expiresAtMillis: Int64?

  package init(expiresAtMillis: Int64? = nil) {
    self.expiresAtMillis = expiresAtMillis
  }
}

extension SendPasswordResetResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__SendPasswordResetResponse> {
    unsafe latchkey__v1__send_password_reset_response__init
  }

  init(_ form: UnsafePointer<Latchkey__V1__SendPasswordResetResponse>) {
    unsafe self.init(expiresAtMillis: millis(form.pointee.expires_at))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__SendPasswordResetResponse>, _ arena: Arena) {
    unsafe form.pointee.expires_at = arena.timestamp(expiresAtMillis)
  }
}

package struct ResetPasswordRequest: Sendable, Equatable {
  package var code: String
  package var newPassword: String
  package var client: ClientContext?
  package var claimAddress: Bool

  package init(
    code: String = "", newPassword: String = "", client: ClientContext? = nil, claimAddress: Bool = false
  ) {
    self.code = code
    self.newPassword = newPassword
    self.client = client
    self.claimAddress = claimAddress
  }
}

extension ResetPasswordRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ResetPasswordRequest> { unsafe latchkey__v1__reset_password_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__ResetPasswordRequest>) {
    unsafe self.init(
      code: text(form.pointee.code), newPassword: text(form.pointee.new_password), client: one(form.pointee.client),
      claimAddress: form.pointee.claim_address != 0)
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ResetPasswordRequest>, _ arena: Arena) {
    unsafe form.pointee.code = arena.text(code)
    unsafe form.pointee.new_password = arena.text(newPassword)
    unsafe form.pointee.client = arena.one(client)
    unsafe form.pointee.claim_address = claimAddress ? 1 : 0
  }
}

package struct ResetPasswordResponse: Sendable, Equatable {
  package var email: String
  package var revokedProviderIDs: [String]
  package var isNewAccount: Bool

  package init(email: String = "", revokedProviderIDs: [String] = [], isNewAccount: Bool = false) {
    self.email = email
    self.revokedProviderIDs = revokedProviderIDs
    self.isNewAccount = isNewAccount
  }
}

extension ResetPasswordResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ResetPasswordResponse> { unsafe latchkey__v1__reset_password_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__ResetPasswordResponse>) {
    unsafe self.init(
      email: text(form.pointee.email),
      revokedProviderIDs: texts(form.pointee.n_revoked_provider_ids, form.pointee.revoked_provider_ids),
      isNewAccount: form.pointee.is_new_account != 0)
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ResetPasswordResponse>, _ arena: Arena) {
    unsafe form.pointee.email = arena.text(email)
    unsafe (form.pointee.n_revoked_provider_ids, form.pointee.revoked_provider_ids) = arena.texts(revokedProviderIDs)
    unsafe form.pointee.is_new_account = isNewAccount ? 1 : 0
  }
}
