// AuthService: proving who one is. The meaning of each field stands in proto/latchkey/v1/auth_service.proto.

internal import Messages

package struct SignInRequest: Sendable, Equatable {
  package var credential: Credential?
  package var pendingToken: String
  package var existingOnly: Bool
  package var idempotencyKey: String
  package var client: ClientContext?
  package var binding: String
  package var claimAddress: Bool

  package init(
    credential: Credential? = nil, pendingToken: String = "", existingOnly: Bool = false, idempotencyKey: String = "",
    client: ClientContext? = nil, binding: String = "", claimAddress: Bool = false
  ) {
    self.credential = credential
    self.pendingToken = pendingToken
    self.existingOnly = existingOnly
    self.idempotencyKey = idempotencyKey
    self.client = client
    self.binding = binding
    self.claimAddress = claimAddress
  }
}

extension SignInRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__SignInRequest> { unsafe latchkey__v1__sign_in_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__SignInRequest>) {
    unsafe self.init(
      credential: one(form.pointee.credential), pendingToken: text(form.pointee.pending_token),
      existingOnly: form.pointee.existing_only != 0, idempotencyKey: text(form.pointee.idempotency_key),
      client: one(form.pointee.client), binding: text(form.pointee.binding),
      claimAddress: form.pointee.claim_address != 0)
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__SignInRequest>, _ arena: Arena) {
    unsafe form.pointee.credential = arena.one(credential)
    unsafe form.pointee.pending_token = arena.text(pendingToken)
    unsafe form.pointee.existing_only = existingOnly ? 1 : 0
    unsafe form.pointee.idempotency_key = arena.text(idempotencyKey)
    unsafe form.pointee.client = arena.one(client)
    unsafe form.pointee.binding = arena.text(binding)
    unsafe form.pointee.claim_address = claimAddress ? 1 : 0
  }
}

package struct SignInResponse: Sendable, Equatable {
  package enum Outcome: Sendable, Equatable {
    case session(Session)
    case accountExists(AccountExists)
    case secondFactorRequired(SecondFactorRequired)
  }

  package var outcome: Outcome?

  package init(outcome: Outcome? = nil) {
    self.outcome = outcome
  }
}

extension SignInResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__SignInResponse> { unsafe latchkey__v1__sign_in_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__SignInResponse>) {
    switch unsafe form.pointee.outcome_case {
    case LATCHKEY__V1__SIGN_IN_RESPONSE__OUTCOME_SESSION:
      outcome = unsafe one(form.pointee.session).map(Outcome.session)
    case LATCHKEY__V1__SIGN_IN_RESPONSE__OUTCOME_ACCOUNT_EXISTS:
      outcome = unsafe one(form.pointee.account_exists).map(Outcome.accountExists)
    case LATCHKEY__V1__SIGN_IN_RESPONSE__OUTCOME_SECOND_FACTOR_REQUIRED:
      outcome = unsafe one(form.pointee.second_factor_required).map(Outcome.secondFactorRequired)
    default:
      outcome = nil
    }
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__SignInResponse>, _ arena: Arena) {
    switch outcome {
    case .session(let value):
      unsafe form.pointee.outcome_case = LATCHKEY__V1__SIGN_IN_RESPONSE__OUTCOME_SESSION
      unsafe form.pointee.session = arena.form(value)
    case .accountExists(let value):
      unsafe form.pointee.outcome_case = LATCHKEY__V1__SIGN_IN_RESPONSE__OUTCOME_ACCOUNT_EXISTS
      unsafe form.pointee.account_exists = arena.form(value)
    case .secondFactorRequired(let value):
      unsafe form.pointee.outcome_case = LATCHKEY__V1__SIGN_IN_RESPONSE__OUTCOME_SECOND_FACTOR_REQUIRED
      unsafe form.pointee.second_factor_required = arena.form(value)
    case nil:
      break
    }
  }
}

package struct ReauthenticateRequest: Sendable, Equatable {
  package var idToken: String
  package var credential: Credential?
  package var client: ClientContext?
  package var binding: String

  package init(
    idToken: String = "", credential: Credential? = nil, client: ClientContext? = nil, binding: String = ""
  ) {
    self.idToken = idToken
    self.credential = credential
    self.client = client
    self.binding = binding
  }
}

extension ReauthenticateRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ReauthenticateRequest> { unsafe latchkey__v1__reauthenticate_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__ReauthenticateRequest>) {
    unsafe self.init(
      idToken: text(form.pointee.id_token), credential: one(form.pointee.credential),
      client: one(form.pointee.client), binding: text(form.pointee.binding))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ReauthenticateRequest>, _ arena: Arena) {
    unsafe form.pointee.id_token = arena.text(idToken)
    unsafe form.pointee.credential = arena.one(credential)
    unsafe form.pointee.client = arena.one(client)
    unsafe form.pointee.binding = arena.text(binding)
  }
}

package struct ReauthenticateResponse: Sendable, Equatable {
  package enum Outcome: Sendable, Equatable {
    case session(Session)
    case secondFactorRequired(SecondFactorRequired)
  }

  package var outcome: Outcome?

  package init(outcome: Outcome? = nil) {
    self.outcome = outcome
  }
}

extension ReauthenticateResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ReauthenticateResponse> { unsafe latchkey__v1__reauthenticate_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__ReauthenticateResponse>) {
    switch unsafe form.pointee.outcome_case {
    case LATCHKEY__V1__REAUTHENTICATE_RESPONSE__OUTCOME_SESSION:
      outcome = unsafe one(form.pointee.session).map(Outcome.session)
    case LATCHKEY__V1__REAUTHENTICATE_RESPONSE__OUTCOME_SECOND_FACTOR_REQUIRED:
      outcome = unsafe one(form.pointee.second_factor_required).map(Outcome.secondFactorRequired)
    default:
      outcome = nil
    }
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ReauthenticateResponse>, _ arena: Arena) {
    switch outcome {
    case .session(let value):
      unsafe form.pointee.outcome_case = LATCHKEY__V1__REAUTHENTICATE_RESPONSE__OUTCOME_SESSION
      unsafe form.pointee.session = arena.form(value)
    case .secondFactorRequired(let value):
      unsafe form.pointee.outcome_case = LATCHKEY__V1__REAUTHENTICATE_RESPONSE__OUTCOME_SECOND_FACTOR_REQUIRED
      unsafe form.pointee.second_factor_required = arena.form(value)
    case nil:
      break
    }
  }
}

package struct FetchProvidersRequest: Sendable, Equatable {
  package enum Subject: Sendable, Equatable {
    case email(String)
    case pendingToken(String)
  }

  package var subject: Subject?
  package var client: ClientContext?
  package var binding: String

  package init(subject: Subject? = nil, client: ClientContext? = nil, binding: String = "") {
    self.subject = subject
    self.client = client
    self.binding = binding
  }
}

extension FetchProvidersRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__FetchProvidersRequest> { unsafe latchkey__v1__fetch_providers_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__FetchProvidersRequest>) {
    unsafe self.init(client: one(form.pointee.client), binding: text(form.pointee.binding))
    switch unsafe form.pointee.subject_case {
    case LATCHKEY__V1__FETCH_PROVIDERS_REQUEST__SUBJECT_EMAIL:
      subject = unsafe .email(text(form.pointee.email))
    case LATCHKEY__V1__FETCH_PROVIDERS_REQUEST__SUBJECT_PENDING_TOKEN:
      subject = unsafe .pendingToken(text(form.pointee.pending_token))
    default:
      break
    }
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__FetchProvidersRequest>, _ arena: Arena) {
    switch subject {
    case .email(let value):
      unsafe form.pointee.subject_case = LATCHKEY__V1__FETCH_PROVIDERS_REQUEST__SUBJECT_EMAIL
      unsafe form.pointee.email = arena.text(value)
    case .pendingToken(let value):
      unsafe form.pointee.subject_case = LATCHKEY__V1__FETCH_PROVIDERS_REQUEST__SUBJECT_PENDING_TOKEN
      unsafe form.pointee.pending_token = arena.text(value)
    case nil:
      break
    }
    unsafe form.pointee.client = arena.one(client)
    unsafe form.pointee.binding = arena.text(binding)
  }
}

package struct FetchProvidersResponse: Sendable, Equatable {
  package var registered: Bool
  package var providerIDs: [String]
  package var signInMethods: [String]
  package var pending: PendingCredential?
  package var methodsMailed: Bool

  package init(
    registered: Bool = false, providerIDs: [String] = [], signInMethods: [String] = [],
    pending: PendingCredential? = nil, methodsMailed: Bool = false
  ) {
    self.registered = registered
    self.providerIDs = providerIDs
    self.signInMethods = signInMethods
    self.pending = pending
    self.methodsMailed = methodsMailed
  }
}

extension FetchProvidersResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__FetchProvidersResponse> { unsafe latchkey__v1__fetch_providers_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__FetchProvidersResponse>) {
    unsafe self.init(
      registered: form.pointee.registered != 0,
      providerIDs: texts(form.pointee.n_provider_ids, form.pointee.provider_ids),
      signInMethods: texts(form.pointee.n_sign_in_methods, form.pointee.sign_in_methods),
      pending: one(form.pointee.pending), methodsMailed: form.pointee.methods_mailed != 0)
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__FetchProvidersResponse>, _ arena: Arena) {
    unsafe form.pointee.registered = registered ? 1 : 0
    unsafe (form.pointee.n_provider_ids, form.pointee.provider_ids) = arena.texts(providerIDs)
    unsafe (form.pointee.n_sign_in_methods, form.pointee.sign_in_methods) = arena.texts(signInMethods)
    unsafe form.pointee.pending = arena.one(pending)
    unsafe form.pointee.methods_mailed = methodsMailed ? 1 : 0
  }
}

package struct PendingCredential: Sendable, Equatable {
  package var purpose: String
  package var providerID: String
  package var email: String
  package var username: String
  package var displayName: String
  package var expiresAtMillis: Int64?

  package init(
    purpose: String = "", providerID: String = "", email: String = "", username: String = "",
    displayName: String = "", expiresAtMillis: Int64? = nil
  ) {
    self.purpose = purpose
    self.providerID = providerID
    self.email = email
    self.username = username
    self.displayName = displayName
    self.expiresAtMillis = expiresAtMillis
  }
}

extension PendingCredential: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__PendingCredential> { unsafe latchkey__v1__pending_credential__init }

  init(_ form: UnsafePointer<Latchkey__V1__PendingCredential>) {
    unsafe self.init(
      purpose: text(form.pointee.purpose), providerID: text(form.pointee.provider_id),
      email: text(form.pointee.email), username: text(form.pointee.username),
      displayName: text(form.pointee.display_name), expiresAtMillis: millis(form.pointee.expires_at))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__PendingCredential>, _ arena: Arena) {
    unsafe form.pointee.purpose = arena.text(purpose)
    unsafe form.pointee.provider_id = arena.text(providerID)
    unsafe form.pointee.email = arena.text(email)
    unsafe form.pointee.username = arena.text(username)
    unsafe form.pointee.display_name = arena.text(displayName)
    unsafe form.pointee.expires_at = arena.timestamp(expiresAtMillis)
  }
}
