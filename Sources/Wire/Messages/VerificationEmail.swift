// The meaning of each field stands in proto/latchkey/v1/verification_service.proto.

internal import Messages

package struct SendEmailLinkRequest: Sendable, Equatable {
  package var email: String
  package var continueURI: String
  package var locale: String
  package var client: ClientContext?
  package var binding: String

  package init(
    email: String = "", continueURI: String = "", locale: String = "", client: ClientContext? = nil,
    binding: String = ""
  ) {
    self.email = email
    self.continueURI = continueURI
    self.locale = locale
    self.client = client
    self.binding = binding
  }
}

extension SendEmailLinkRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__SendEmailLinkRequest> { unsafe latchkey__v1__send_email_link_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__SendEmailLinkRequest>) {
    unsafe self.init(
      email: text(form.pointee.email), continueURI: text(form.pointee.continue_uri), locale: text(form.pointee.locale),
      client: one(form.pointee.client), binding: text(form.pointee.binding))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__SendEmailLinkRequest>, _ arena: Arena) {
    unsafe form.pointee.email = arena.text(email)
    unsafe form.pointee.continue_uri = arena.text(continueURI)
    unsafe form.pointee.locale = arena.text(locale)
    unsafe form.pointee.client = arena.one(client)
    unsafe form.pointee.binding = arena.text(binding)
  }
}

package struct SendEmailLinkResponse: Sendable, Equatable {
  package var expiresAtMillis: Int64?

  package init(expiresAtMillis: Int64? = nil) {
    self.expiresAtMillis = expiresAtMillis
  }
}

extension SendEmailLinkResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__SendEmailLinkResponse> { unsafe latchkey__v1__send_email_link_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__SendEmailLinkResponse>) {
    unsafe self.init(expiresAtMillis: millis(form.pointee.expires_at))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__SendEmailLinkResponse>, _ arena: Arena) {
    unsafe form.pointee.expires_at = arena.timestamp(expiresAtMillis)
  }
}

package struct SendEmailVerificationRequest: Sendable, Equatable {
  package var idToken: String
  package var continueURI: String
  package var locale: String
  package var client: ClientContext?

  package init(idToken: String = "", continueURI: String = "", locale: String = "", client: ClientContext? = nil) {
    self.idToken = idToken
    self.continueURI = continueURI
    self.locale = locale
    self.client = client
  }
}

extension SendEmailVerificationRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__SendEmailVerificationRequest> {
    unsafe latchkey__v1__send_email_verification_request__init
  }

  init(_ form: UnsafePointer<Latchkey__V1__SendEmailVerificationRequest>) {
    unsafe self.init(
      idToken: text(form.pointee.id_token), continueURI: text(form.pointee.continue_uri),
      locale: text(form.pointee.locale), client: one(form.pointee.client))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__SendEmailVerificationRequest>, _ arena: Arena) {
    unsafe form.pointee.id_token = arena.text(idToken)
    unsafe form.pointee.continue_uri = arena.text(continueURI)
    unsafe form.pointee.locale = arena.text(locale)
    unsafe form.pointee.client = arena.one(client)
  }
}

package struct SendEmailVerificationResponse: Sendable, Equatable {
  package var expiresAtMillis: Int64?

  package init(expiresAtMillis: Int64? = nil) {
    self.expiresAtMillis = expiresAtMillis
  }
}

extension SendEmailVerificationResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__SendEmailVerificationResponse> {
    unsafe latchkey__v1__send_email_verification_response__init
  }

  init(_ form: UnsafePointer<Latchkey__V1__SendEmailVerificationResponse>) {
    unsafe self.init(expiresAtMillis: millis(form.pointee.expires_at))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__SendEmailVerificationResponse>, _ arena: Arena) {
    unsafe form.pointee.expires_at = arena.timestamp(expiresAtMillis)
  }
}

package struct SendEmailChangeRequest: Sendable, Equatable {
  package var idToken: String
  package var newEmail: String
  package var continueURI: String
  package var locale: String
  package var client: ClientContext?

  package init(
    idToken: String = "", newEmail: String = "", continueURI: String = "", locale: String = "",
    client: ClientContext? = nil
  ) {
    self.idToken = idToken
    self.newEmail = newEmail
    self.continueURI = continueURI
    self.locale = locale
    self.client = client
  }
}

extension SendEmailChangeRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__SendEmailChangeRequest> { unsafe latchkey__v1__send_email_change_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__SendEmailChangeRequest>) {
    unsafe self.init(
      idToken: text(form.pointee.id_token), newEmail: text(form.pointee.new_email),
      continueURI: text(form.pointee.continue_uri), locale: text(form.pointee.locale), client: one(form.pointee.client))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__SendEmailChangeRequest>, _ arena: Arena) {
    unsafe form.pointee.id_token = arena.text(idToken)
    unsafe form.pointee.new_email = arena.text(newEmail)
    unsafe form.pointee.continue_uri = arena.text(continueURI)
    unsafe form.pointee.locale = arena.text(locale)
    unsafe form.pointee.client = arena.one(client)
  }
}

package struct SendEmailChangeResponse: Sendable, Equatable {
  package var expiresAtMillis: Int64?

  package init(expiresAtMillis: Int64? = nil) {
    self.expiresAtMillis = expiresAtMillis
  }
}

extension SendEmailChangeResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__SendEmailChangeResponse> {
    unsafe latchkey__v1__send_email_change_response__init
  }

  init(_ form: UnsafePointer<Latchkey__V1__SendEmailChangeResponse>) {
    unsafe self.init(expiresAtMillis: millis(form.pointee.expires_at))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__SendEmailChangeResponse>, _ arena: Arena) {
    unsafe form.pointee.expires_at = arena.timestamp(expiresAtMillis)
  }
}

package struct CheckCodeRequest: Sendable, Equatable {
  package var code: String

  package init(code: String = "") {
    self.code = code
  }
}

extension CheckCodeRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__CheckCodeRequest> { unsafe latchkey__v1__check_code_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__CheckCodeRequest>) {
    unsafe self.init(code: text(form.pointee.code))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__CheckCodeRequest>, _ arena: Arena) {
    unsafe form.pointee.code = arena.text(code)
  }
}

package struct CheckCodeResponse: Sendable, Equatable {
  package var mode: String
  package var email: String
  package var expiresAtMillis: Int64?

  package init(mode: String = "", email: String = "", expiresAtMillis: Int64? = nil) {
    self.mode = mode
    self.email = email
    self.expiresAtMillis = expiresAtMillis
  }
}

extension CheckCodeResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__CheckCodeResponse> { unsafe latchkey__v1__check_code_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__CheckCodeResponse>) {
    unsafe self.init(
      mode: text(form.pointee.mode), email: text(form.pointee.email), expiresAtMillis: millis(form.pointee.expires_at))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__CheckCodeResponse>, _ arena: Arena) {
    unsafe form.pointee.mode = arena.text(mode)
    unsafe form.pointee.email = arena.text(email)
    unsafe form.pointee.expires_at = arena.timestamp(expiresAtMillis)
  }
}

package struct ConfirmEmailRequest: Sendable, Equatable {
  package var code: String
  package var idToken: String
  package var client: ClientContext?

  package init(code: String = "", idToken: String = "", client: ClientContext? = nil) {
    self.code = code
    self.idToken = idToken
    self.client = client
  }
}

extension ConfirmEmailRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ConfirmEmailRequest> { unsafe latchkey__v1__confirm_email_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__ConfirmEmailRequest>) {
    unsafe self.init(
      code: text(form.pointee.code), idToken: text(form.pointee.id_token), client: one(form.pointee.client))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ConfirmEmailRequest>, _ arena: Arena) {
    unsafe form.pointee.code = arena.text(code)
    unsafe form.pointee.id_token = arena.text(idToken)
    unsafe form.pointee.client = arena.one(client)
  }
}

package struct ConfirmEmailResponse: Sendable, Equatable {
  package var session: Session?
  package var email: String

  package init(session: Session? = nil, email: String = "") {
    self.session = session
    self.email = email
  }
}

extension ConfirmEmailResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ConfirmEmailResponse> { unsafe latchkey__v1__confirm_email_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__ConfirmEmailResponse>) {
    unsafe self.init(session: one(form.pointee.session), email: text(form.pointee.email))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ConfirmEmailResponse>, _ arena: Arena) {
    unsafe form.pointee.session = arena.one(session)
    unsafe form.pointee.email = arena.text(email)
  }
}
