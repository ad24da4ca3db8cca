// The meaning of each field stands in proto/latchkey/v1/second_factor_service.proto.

internal import Messages

package struct StartSecondFactorRequest: Sendable, Equatable {
  package var pendingToken: String
  package var factorID: String
  package var client: ClientContext?
  package var binding: String
  package var locale: String

  package init(
    pendingToken: String = "", factorID: String = "", client: ClientContext? = nil, binding: String = "",
    locale: String = ""
  ) {
    self.pendingToken = pendingToken
    self.factorID = factorID
    self.client = client
    self.binding = binding
    self.locale = locale
  }
}

extension StartSecondFactorRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__StartSecondFactorRequest> {
    unsafe latchkey__v1__start_second_factor_request__init
  }

  init(_ form: UnsafePointer<Latchkey__V1__StartSecondFactorRequest>) {
    unsafe self.init(
      pendingToken: text(form.pointee.pending_token), factorID: text(form.pointee.factor_id),
      client: one(form.pointee.client), binding: text(form.pointee.binding), locale: text(form.pointee.locale))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__StartSecondFactorRequest>, _ arena: Arena) {
    unsafe form.pointee.pending_token = arena.text(pendingToken)
    unsafe form.pointee.factor_id = arena.text(factorID)
    unsafe form.pointee.client = arena.one(client)
    unsafe form.pointee.binding = arena.text(binding)
    unsafe form.pointee.locale = arena.text(locale)
  }
}

package struct StartSecondFactorResponse: Sendable, Equatable {
  package var verificationID: String
  package var expiresAtMillis: Int64?

  package init(verificationID: String = "", expiresAtMillis: Int64? = nil) {
    self.verificationID = verificationID
    self.expiresAtMillis = expiresAtMillis
  }
}

extension StartSecondFactorResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__StartSecondFactorResponse> {
    unsafe latchkey__v1__start_second_factor_response__init
  }

  init(_ form: UnsafePointer<Latchkey__V1__StartSecondFactorResponse>) {
    unsafe self.init(
      verificationID: text(form.pointee.verification_id), expiresAtMillis: millis(form.pointee.expires_at))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__StartSecondFactorResponse>, _ arena: Arena) {
    unsafe form.pointee.verification_id = arena.text(verificationID)
    unsafe form.pointee.expires_at = arena.timestamp(expiresAtMillis)
  }
}

package struct FinishSecondFactorRequest: Sendable, Equatable {
  package var pendingToken: String
  package var factorID: String
  package var verificationID: String
  package var code: String
  package var idempotencyKey: String
  package var client: ClientContext?
  package var binding: String

  package init(
    pendingToken: String = "", factorID: String = "", verificationID: String = "", code: String = "",
    idempotencyKey: String = "", client: ClientContext? = nil, binding: String = ""
  ) {
    self.pendingToken = pendingToken
    self.factorID = factorID
    self.verificationID = verificationID
    self.code = code
    self.idempotencyKey = idempotencyKey
    self.client = client
    self.binding = binding
  }
}

extension FinishSecondFactorRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__FinishSecondFactorRequest> {
    unsafe latchkey__v1__finish_second_factor_request__init
  }

  init(_ form: UnsafePointer<Latchkey__V1__FinishSecondFactorRequest>) {
    unsafe self.init(
      pendingToken: text(form.pointee.pending_token), factorID: text(form.pointee.factor_id),
      verificationID: text(form.pointee.verification_id), code: text(form.pointee.code),
      idempotencyKey: text(form.pointee.idempotency_key), client: one(form.pointee.client),
      binding: text(form.pointee.binding))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__FinishSecondFactorRequest>, _ arena: Arena) {
    unsafe form.pointee.pending_token = arena.text(pendingToken)
    unsafe form.pointee.factor_id = arena.text(factorID)
    unsafe form.pointee.verification_id = arena.text(verificationID)
    unsafe form.pointee.code = arena.text(code)
    unsafe form.pointee.idempotency_key = arena.text(idempotencyKey)
    unsafe form.pointee.client = arena.one(client)
    unsafe form.pointee.binding = arena.text(binding)
  }
}

package struct FinishSecondFactorResponse: Sendable, Equatable {
  package enum Outcome: Sendable, Equatable {
    case session(Session)
    case accountExists(AccountExists)
    case credentialInUse(CredentialInUse)
  }

  package var outcome: Outcome?
  package var alreadyLinked: Bool

  package init(outcome: Outcome? = nil, alreadyLinked: Bool = false) {
    self.outcome = outcome
    self.alreadyLinked = alreadyLinked
  }
}

extension FinishSecondFactorResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__FinishSecondFactorResponse> {
    unsafe latchkey__v1__finish_second_factor_response__init
  }

  init(_ form: UnsafePointer<Latchkey__V1__FinishSecondFactorResponse>) {
    unsafe self.init(alreadyLinked: form.pointee.already_linked != 0)
    switch unsafe form.pointee.outcome_case {
    case LATCHKEY__V1__FINISH_SECOND_FACTOR_RESPONSE__OUTCOME_SESSION:
      outcome = unsafe one(form.pointee.session).map(Outcome.session)
    case LATCHKEY__V1__FINISH_SECOND_FACTOR_RESPONSE__OUTCOME_ACCOUNT_EXISTS:
      outcome = unsafe one(form.pointee.account_exists).map(Outcome.accountExists)
    case LATCHKEY__V1__FINISH_SECOND_FACTOR_RESPONSE__OUTCOME_CREDENTIAL_IN_USE:
      outcome = unsafe one(form.pointee.credential_in_use).map(Outcome.credentialInUse)
    default:
      break
    }
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__FinishSecondFactorResponse>, _ arena: Arena) {
    switch outcome {
    case .session(let value):
      unsafe form.pointee.outcome_case = LATCHKEY__V1__FINISH_SECOND_FACTOR_RESPONSE__OUTCOME_SESSION
      unsafe form.pointee.session = arena.form(value)
    case .accountExists(let value):
      unsafe form.pointee.outcome_case = LATCHKEY__V1__FINISH_SECOND_FACTOR_RESPONSE__OUTCOME_ACCOUNT_EXISTS
      unsafe form.pointee.account_exists = arena.form(value)
    case .credentialInUse(let value):
      unsafe form.pointee.outcome_case = LATCHKEY__V1__FINISH_SECOND_FACTOR_RESPONSE__OUTCOME_CREDENTIAL_IN_USE
      unsafe form.pointee.credential_in_use = arena.form(value)
    case nil:
      break
    }
    unsafe form.pointee.already_linked = alreadyLinked ? 1 : 0
  }
}

package struct StartEnrollmentRequest: Sendable, Equatable {
  package var idToken: String
  package var kind: String
  package var phoneNumber: String
  package var displayName: String
  package var client: ClientContext?
  package var locale: String

  package init(
    idToken: String = "", kind: String = "", phoneNumber: String = "", displayName: String = "",
    client: ClientContext? = nil, locale: String = ""
  ) {
    self.idToken = idToken
    self.kind = kind
    self.phoneNumber = phoneNumber
    self.displayName = displayName
    self.client = client
    self.locale = locale
  }
}

extension StartEnrollmentRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__StartEnrollmentRequest> { unsafe latchkey__v1__start_enrollment_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__StartEnrollmentRequest>) {
    unsafe self.init(
      idToken: text(form.pointee.id_token), kind: text(form.pointee.kind),
      phoneNumber: text(form.pointee.phone_number), displayName: text(form.pointee.display_name),
      client: one(form.pointee.client), locale: text(form.pointee.locale))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__StartEnrollmentRequest>, _ arena: Arena) {
    unsafe form.pointee.id_token = arena.text(idToken)
    unsafe form.pointee.kind = arena.text(kind)
    unsafe form.pointee.phone_number = arena.text(phoneNumber)
    unsafe form.pointee.display_name = arena.text(displayName)
    unsafe form.pointee.client = arena.one(client)
    unsafe form.pointee.locale = arena.text(locale)
  }
}

package struct StartEnrollmentResponse: Sendable, Equatable {
  package var enrollmentID: String
  package var totpSecret: String
  package var totpURI: String
  package var expiresAtMillis: Int64?

  package init(enrollmentID: String = "", totpSecret: String = "", totpURI: String = "", expiresAtMillis: Int64? = nil
  ) {
    self.enrollmentID = enrollmentID
    self.totpSecret = totpSecret
    self.totpURI = totpURI
    self.expiresAtMillis = expiresAtMillis
  }
}

extension StartEnrollmentResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__StartEnrollmentResponse> {
    unsafe latchkey__v1__start_enrollment_response__init
  }

  init(_ form: UnsafePointer<Latchkey__V1__StartEnrollmentResponse>) {
    unsafe self.init(
      enrollmentID: text(form.pointee.enrollment_id), totpSecret: text(form.pointee.totp_secret),
      totpURI: text(form.pointee.totp_uri), expiresAtMillis: millis(form.pointee.expires_at))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__StartEnrollmentResponse>, _ arena: Arena) {
    unsafe form.pointee.enrollment_id = arena.text(enrollmentID)
    unsafe form.pointee.totp_secret = arena.text(totpSecret)
    unsafe form.pointee.totp_uri = arena.text(totpURI)
    unsafe form.pointee.expires_at = arena.timestamp(expiresAtMillis)
  }
}

package struct FinishEnrollmentRequest: Sendable, Equatable {
  package var idToken: String
  package var enrollmentID: String
  package var code: String
  package var client: ClientContext?

  package init(idToken: String = "", enrollmentID: String = "", code: String = "", client: ClientContext? = nil) {
    self.idToken = idToken
    self.enrollmentID = enrollmentID
    self.code = code
    self.client = client
  }
}

extension FinishEnrollmentRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__FinishEnrollmentRequest> {
    unsafe latchkey__v1__finish_enrollment_request__init
  }

  init(_ form: UnsafePointer<Latchkey__V1__FinishEnrollmentRequest>) {
    unsafe self.init(
      idToken: text(form.pointee.id_token), enrollmentID: text(form.pointee.enrollment_id),
      code: text(form.pointee.code), client: one(form.pointee.client))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__FinishEnrollmentRequest>, _ arena: Arena) {
    unsafe form.pointee.id_token = arena.text(idToken)
    unsafe form.pointee.enrollment_id = arena.text(enrollmentID)
    unsafe form.pointee.code = arena.text(code)
    unsafe form.pointee.client = arena.one(client)
  }
}

package struct FinishEnrollmentResponse: Sendable, Equatable {
  package var session: Session?
  package var recoveryCodes: [String]

  package init(session: Session? = nil, recoveryCodes: [String] = []) {
    self.session = session
    self.recoveryCodes = recoveryCodes
  }
}

extension FinishEnrollmentResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__FinishEnrollmentResponse> {
    unsafe latchkey__v1__finish_enrollment_response__init
  }

  init(_ form: UnsafePointer<Latchkey__V1__FinishEnrollmentResponse>) {
    unsafe self.init(
      session: one(form.pointee.session),
      recoveryCodes: texts(form.pointee.n_recovery_codes, form.pointee.recovery_codes))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__FinishEnrollmentResponse>, _ arena: Arena) {
    unsafe form.pointee.session = arena.one(session)
    unsafe (form.pointee.n_recovery_codes, form.pointee.recovery_codes) = arena.texts(recoveryCodes)
  }
}

package struct WithdrawRequest: Sendable, Equatable {
  package var idToken: String
  package var factorID: String
  package var client: ClientContext?

  package init(idToken: String = "", factorID: String = "", client: ClientContext? = nil) {
    self.idToken = idToken
    self.factorID = factorID
    self.client = client
  }
}

extension WithdrawRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__WithdrawRequest> { unsafe latchkey__v1__withdraw_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__WithdrawRequest>) {
    unsafe self.init(
      idToken: text(form.pointee.id_token), factorID: text(form.pointee.factor_id), client: one(form.pointee.client))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__WithdrawRequest>, _ arena: Arena) {
    unsafe form.pointee.id_token = arena.text(idToken)
    unsafe form.pointee.factor_id = arena.text(factorID)
    unsafe form.pointee.client = arena.one(client)
  }
}

package struct WithdrawResponse: Sendable, Equatable {
  package var session: Session?

  package init(session: Session? = nil) {
    self.session = session
  }
}

extension WithdrawResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__WithdrawResponse> { unsafe latchkey__v1__withdraw_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__WithdrawResponse>) {
    unsafe self.init(session: one(form.pointee.session))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__WithdrawResponse>, _ arena: Arena) {
    unsafe form.pointee.session = arena.one(session)
  }
}
