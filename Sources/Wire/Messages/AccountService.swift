// The meaning of each field stands in proto/latchkey/v1/account_service.proto.

internal import Messages

package struct CreateRequest: Sendable, Equatable {
  package var email: String
  package var password: String
  package var displayName: String
  package var photoURL: String
  package var idempotencyKey: String
  package var client: ClientContext?
  package var continueURI: String
  package var locale: String
  package var code: String

  package init(
    email: String = "", password: String = "", displayName: String = "", photoURL: String = "",
    idempotencyKey: String = "", client: ClientContext? = nil, continueURI: String = "", locale: String = "",
    code: String = ""
  ) {
    self.email = email
    self.password = password
    self.displayName = displayName
    self.photoURL = photoURL
    self.idempotencyKey = idempotencyKey
    self.client = client
    self.continueURI = continueURI
    self.locale = locale
    self.code = code
  }
}

extension CreateRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__CreateRequest> { unsafe latchkey__v1__create_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__CreateRequest>) {
    unsafe self.init(
      email: text(form.pointee.email), password: text(form.pointee.password),
      displayName: text(form.pointee.display_name), photoURL: text(form.pointee.photo_url),
      idempotencyKey: text(form.pointee.idempotency_key), client: one(form.pointee.client),
      continueURI: text(form.pointee.continue_uri), locale: text(form.pointee.locale), code: text(form.pointee.code))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__CreateRequest>, _ arena: Arena) {
    unsafe form.pointee.email = arena.text(email)
    unsafe form.pointee.password = arena.text(password)
    unsafe form.pointee.display_name = arena.text(displayName)
    unsafe form.pointee.photo_url = arena.text(photoURL)
    unsafe form.pointee.idempotency_key = arena.text(idempotencyKey)
    unsafe form.pointee.client = arena.one(client)
    unsafe form.pointee.continue_uri = arena.text(continueURI)
    unsafe form.pointee.locale = arena.text(locale)
    unsafe form.pointee.code = arena.text(code)
  }
}

package struct CreateResponse: Sendable, Equatable {
  package enum Outcome: Sendable, Equatable {
    case session(Session)
    case verificationSent(VerificationSent)
  }

  package var outcome: Outcome?

  package init(outcome: Outcome? = nil) {
    self.outcome = outcome
  }
}

extension CreateResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__CreateResponse> { unsafe latchkey__v1__create_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__CreateResponse>) {
    switch unsafe form.pointee.outcome_case {
    case LATCHKEY__V1__CREATE_RESPONSE__OUTCOME_SESSION:
      outcome = unsafe one(form.pointee.session).map(Outcome.session)
    case LATCHKEY__V1__CREATE_RESPONSE__OUTCOME_VERIFICATION_SENT:
      outcome = unsafe one(form.pointee.verification_sent).map(Outcome.verificationSent)
    default:
      outcome = nil
    }
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__CreateResponse>, _ arena: Arena) {
    switch outcome {
    case .session(let value):
      unsafe form.pointee.outcome_case = LATCHKEY__V1__CREATE_RESPONSE__OUTCOME_SESSION
      unsafe form.pointee.session = arena.form(value)
    case .verificationSent(let value):
      unsafe form.pointee.outcome_case = LATCHKEY__V1__CREATE_RESPONSE__OUTCOME_VERIFICATION_SENT
      unsafe form.pointee.verification_sent = arena.form(value)
    case nil:
      break
    }
  }
}

package struct VerificationSent: Sendable, Equatable {
  package var expiresAtMillis: Int64?

  package init(expiresAtMillis: Int64? = nil) {
    self.expiresAtMillis = expiresAtMillis
  }
}

extension VerificationSent: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__VerificationSent> { unsafe latchkey__v1__verification_sent__init }

  init(_ form: UnsafePointer<Latchkey__V1__VerificationSent>) {
    unsafe self.init(expiresAtMillis: millis(form.pointee.expires_at))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__VerificationSent>, _ arena: Arena) {
    unsafe form.pointee.expires_at = arena.timestamp(expiresAtMillis)
  }
}

package struct GetRequest: Sendable, Equatable {
  package var idToken: String

  package init(idToken: String = "") {
    self.idToken = idToken
  }
}

extension GetRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__GetRequest> { unsafe latchkey__v1__get_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__GetRequest>) {
    unsafe self.init(idToken: text(form.pointee.id_token))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__GetRequest>, _ arena: Arena) {
    unsafe form.pointee.id_token = arena.text(idToken)
  }
}

package struct GetResponse: Sendable, Equatable {
  package var account: Account?

  package init(account: Account? = nil) {
    self.account = account
  }
}

extension GetResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__GetResponse> { unsafe latchkey__v1__get_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__GetResponse>) {
    unsafe self.init(account: one(form.pointee.account))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__GetResponse>, _ arena: Arena) {
    unsafe form.pointee.account = arena.one(account)
  }
}

package struct DeleteRequest: Sendable, Equatable {
  package var idToken: String
  package var idempotencyKey: String
  package var client: ClientContext?

  package init(idToken: String = "", idempotencyKey: String = "", client: ClientContext? = nil) {
    self.idToken = idToken
    self.idempotencyKey = idempotencyKey
    self.client = client
  }
}

extension DeleteRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__DeleteRequest> { unsafe latchkey__v1__delete_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__DeleteRequest>) {
    unsafe self.init(
      idToken: text(form.pointee.id_token), idempotencyKey: text(form.pointee.idempotency_key),
      client: one(form.pointee.client))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__DeleteRequest>, _ arena: Arena) {
    unsafe form.pointee.id_token = arena.text(idToken)
    unsafe form.pointee.idempotency_key = arena.text(idempotencyKey)
    unsafe form.pointee.client = arena.one(client)
  }
}

package struct DeleteResponse: Sendable, Equatable {
  package init() {}
}

extension DeleteResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__DeleteResponse> { unsafe latchkey__v1__delete_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__DeleteResponse>) {}

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__DeleteResponse>, _ arena: Arena) {}
}
