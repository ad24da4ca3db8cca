// The meaning of each field stands in proto/latchkey/v1/admin_service.proto.

internal import Messages

package struct LookupRequest: Sendable, Equatable {
  package enum Subject: Sendable, Equatable {
    case accountID(String)
    case email(String)
    case phoneNumber(String)
    case identity(ProviderIdentity)
  }

  package var subject: Subject?

  package init(subject: Subject? = nil) {
    self.subject = subject
  }
}

extension LookupRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__LookupRequest> { unsafe latchkey__v1__lookup_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__LookupRequest>) {
    switch unsafe form.pointee.subject_case {
    case LATCHKEY__V1__LOOKUP_REQUEST__SUBJECT_ACCOUNT_ID:
      subject = unsafe .accountID(text(form.pointee.account_id))
    case LATCHKEY__V1__LOOKUP_REQUEST__SUBJECT_EMAIL:
      subject = unsafe .email(text(form.pointee.email))
    case LATCHKEY__V1__LOOKUP_REQUEST__SUBJECT_PHONE_NUMBER:
      subject = unsafe .phoneNumber(text(form.pointee.phone_number))
    case LATCHKEY__V1__LOOKUP_REQUEST__SUBJECT_IDENTITY:
      subject = unsafe one(form.pointee.identity).map(Subject.identity)
    default:
      subject = nil
    }
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__LookupRequest>, _ arena: Arena) {
    switch subject {
    case .accountID(let value):
      unsafe form.pointee.subject_case = LATCHKEY__V1__LOOKUP_REQUEST__SUBJECT_ACCOUNT_ID
      unsafe form.pointee.account_id = arena.text(value)
    case .email(let value):
      unsafe form.pointee.subject_case = LATCHKEY__V1__LOOKUP_REQUEST__SUBJECT_EMAIL
      unsafe form.pointee.email = arena.text(value)
    case .phoneNumber(let value):
      unsafe form.pointee.subject_case = LATCHKEY__V1__LOOKUP_REQUEST__SUBJECT_PHONE_NUMBER
      unsafe form.pointee.phone_number = arena.text(value)
    case .identity(let value):
      unsafe form.pointee.subject_case = LATCHKEY__V1__LOOKUP_REQUEST__SUBJECT_IDENTITY
      unsafe form.pointee.identity = arena.form(value)
    case nil:
      break
    }
  }
}

package struct ProviderIdentity: Sendable, Equatable {
  package var providerID: String
  package var subject: String

  package init(providerID: String = "", subject: String = "") {
    self.providerID = providerID
    self.subject = subject
  }
}

extension ProviderIdentity: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ProviderIdentity> { unsafe latchkey__v1__provider_identity__init }

  init(_ form: UnsafePointer<Latchkey__V1__ProviderIdentity>) {
    unsafe self.init(providerID: text(form.pointee.provider_id), subject: text(form.pointee.subject))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ProviderIdentity>, _ arena: Arena) {
    unsafe form.pointee.provider_id = arena.text(providerID)
    unsafe form.pointee.subject = arena.text(subject)
  }
}

package struct LookupResponse: Sendable, Equatable {
  package var account: Account?

  package init(account: Account? = nil) {
    self.account = account
  }
}

extension LookupResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__LookupResponse> { unsafe latchkey__v1__lookup_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__LookupResponse>) {
    unsafe self.init(account: one(form.pointee.account))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__LookupResponse>, _ arena: Arena) {
    unsafe form.pointee.account = arena.one(account)
  }
}

package struct CreateCustomTokenRequest: Sendable, Equatable {
  package var accountID: String
  package var claimsJSON: String
  package var lifetimeMillis: Int64?

  package init(accountID: String = "", claimsJSON: String = "", lifetimeMillis: Int64? = nil) {
    self.accountID = accountID
    self.claimsJSON = claimsJSON
    self.lifetimeMillis = lifetimeMillis
  }
}

extension CreateCustomTokenRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__CreateCustomTokenRequest> {
    unsafe latchkey__v1__create_custom_token_request__init
  }

  init(_ form: UnsafePointer<Latchkey__V1__CreateCustomTokenRequest>) {
    unsafe self.init(
      accountID: text(form.pointee.account_id), claimsJSON: text(form.pointee.claims_json),
      lifetimeMillis: millis(form.pointee.lifetime))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__CreateCustomTokenRequest>, _ arena: Arena) {
    unsafe form.pointee.account_id = arena.text(accountID)
    unsafe form.pointee.claims_json = arena.text(claimsJSON)
    unsafe form.pointee.lifetime = arena.duration(lifetimeMillis)
  }
}

package struct CreateCustomTokenResponse: Sendable, Equatable {
  package var customToken: String
  package var expiresAtMillis: Int64?

  package init(customToken: String = "", expiresAtMillis: Int64? = nil) {
    self.customToken = customToken
    self.expiresAtMillis = expiresAtMillis
  }
}

extension CreateCustomTokenResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__CreateCustomTokenResponse> {
    unsafe latchkey__v1__create_custom_token_response__init
  }

  init(_ form: UnsafePointer<Latchkey__V1__CreateCustomTokenResponse>) {
    unsafe self.init(customToken: text(form.pointee.custom_token), expiresAtMillis: millis(form.pointee.expires_at))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__CreateCustomTokenResponse>, _ arena: Arena) {
    unsafe form.pointee.custom_token = arena.text(customToken)
    unsafe form.pointee.expires_at = arena.timestamp(expiresAtMillis)
  }
}
