// AuthService: ways of signing in, added and removed. The meaning of each field stands in
// proto/latchkey/v1/auth_service.proto.

internal import Messages

package struct LinkRequest: Sendable, Equatable {
  package var idToken: String
  package var credential: Credential?
  package var idempotencyKey: String
  package var client: ClientContext?
  package var binding: String

  package init(
    idToken: String = "", credential: Credential? = nil, idempotencyKey: String = "", client: ClientContext? = nil,
    binding: String = ""
  ) {
    self.idToken = idToken
    self.credential = credential
    self.idempotencyKey = idempotencyKey
    self.client = client
    self.binding = binding
  }
}

extension LinkRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__LinkRequest> { unsafe latchkey__v1__link_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__LinkRequest>) {
    unsafe self.init(
      idToken: text(form.pointee.id_token), credential: one(form.pointee.credential),
      idempotencyKey: text(form.pointee.idempotency_key), client: one(form.pointee.client),
      binding: text(form.pointee.binding))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__LinkRequest>, _ arena: Arena) {
    unsafe form.pointee.id_token = arena.text(idToken)
    unsafe form.pointee.credential = arena.one(credential)
    unsafe form.pointee.idempotency_key = arena.text(idempotencyKey)
    unsafe form.pointee.client = arena.one(client)
    unsafe form.pointee.binding = arena.text(binding)
  }
}

package struct LinkResponse: Sendable, Equatable {
  package enum Outcome: Sendable, Equatable {
    case session(Session)
    case credentialInUse(CredentialInUse)
    case secondFactorRequired(SecondFactorRequired)
  }

  package var outcome: Outcome?
  package var alreadyLinked: Bool

  package init(outcome: Outcome? = nil, alreadyLinked: Bool = false) {
    self.outcome = outcome
    self.alreadyLinked = alreadyLinked
  }
}

extension LinkResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__LinkResponse> { unsafe latchkey__v1__link_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__LinkResponse>) {
    unsafe self.init(alreadyLinked: form.pointee.already_linked != 0)
    switch unsafe form.pointee.outcome_case {
    case LATCHKEY__V1__LINK_RESPONSE__OUTCOME_SESSION:
      outcome = unsafe one(form.pointee.session).map(Outcome.session)
    case LATCHKEY__V1__LINK_RESPONSE__OUTCOME_CREDENTIAL_IN_USE:
      outcome = unsafe one(form.pointee.credential_in_use).map(Outcome.credentialInUse)
    case LATCHKEY__V1__LINK_RESPONSE__OUTCOME_SECOND_FACTOR_REQUIRED:
      outcome = unsafe one(form.pointee.second_factor_required).map(Outcome.secondFactorRequired)
    default:
      break
    }
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__LinkResponse>, _ arena: Arena) {
    switch outcome {
    case .session(let value):
      unsafe form.pointee.outcome_case = LATCHKEY__V1__LINK_RESPONSE__OUTCOME_SESSION
      unsafe form.pointee.session = arena.form(value)
    case .credentialInUse(let value):
      unsafe form.pointee.outcome_case = LATCHKEY__V1__LINK_RESPONSE__OUTCOME_CREDENTIAL_IN_USE
      unsafe form.pointee.credential_in_use = arena.form(value)
    case .secondFactorRequired(let value):
      unsafe form.pointee.outcome_case = LATCHKEY__V1__LINK_RESPONSE__OUTCOME_SECOND_FACTOR_REQUIRED
      unsafe form.pointee.second_factor_required = arena.form(value)
    case nil:
      break
    }
    unsafe form.pointee.already_linked = alreadyLinked ? 1 : 0
  }
}

package struct UnlinkRequest: Sendable, Equatable {
  package var idToken: String
  package var providerID: String
  package var idempotencyKey: String
  package var client: ClientContext?

  package init(
    idToken: String = "", providerID: String = "", idempotencyKey: String = "", client: ClientContext? = nil
  ) {
    self.idToken = idToken
    self.providerID = providerID
    self.idempotencyKey = idempotencyKey
    self.client = client
  }
}

extension UnlinkRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__UnlinkRequest> { unsafe latchkey__v1__unlink_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__UnlinkRequest>) {
    unsafe self.init(
      idToken: text(form.pointee.id_token), providerID: text(form.pointee.provider_id),
      idempotencyKey: text(form.pointee.idempotency_key), client: one(form.pointee.client))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__UnlinkRequest>, _ arena: Arena) {
    unsafe form.pointee.id_token = arena.text(idToken)
    unsafe form.pointee.provider_id = arena.text(providerID)
    unsafe form.pointee.idempotency_key = arena.text(idempotencyKey)
    unsafe form.pointee.client = arena.one(client)
  }
}

package struct UnlinkResponse: Sendable, Equatable {
  package var session: Session?

  package init(session: Session? = nil) {
    self.session = session
  }
}

extension UnlinkResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__UnlinkResponse> { unsafe latchkey__v1__unlink_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__UnlinkResponse>) {
    unsafe self.init(session: one(form.pointee.session))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__UnlinkResponse>, _ arena: Arena) {
    unsafe form.pointee.session = arena.one(session)
  }
}
