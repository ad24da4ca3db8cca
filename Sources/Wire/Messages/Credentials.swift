// What a caller presents. The meaning of each field stands in proto/latchkey/v1/types.proto.

internal import Messages

package struct Credential: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    case password(PasswordCredential)
    case providerToken(ProviderTokenCredential)
    case authorizationResponse(AuthorizationResponse)
    case phoneCode(PhoneCodeCredential)
    case emailLink(EmailLinkCredential)
    case customToken(CustomTokenCredential)
    case anonymous(AnonymousCredential)
    case pendingToken(String)
  }

  package var kind: Kind?

  package init(kind: Kind? = nil) {
    self.kind = kind
  }
}

extension Credential: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__Credential> { unsafe latchkey__v1__credential__init }

  init(_ form: UnsafePointer<Latchkey__V1__Credential>) {
    switch unsafe form.pointee.kind_case {
    case LATCHKEY__V1__CREDENTIAL__KIND_PASSWORD:
      kind = unsafe one(form.pointee.password).map(Kind.password)
    case LATCHKEY__V1__CREDENTIAL__KIND_PROVIDER_TOKEN:
      kind = unsafe one(form.pointee.provider_token).map(Kind.providerToken)
    case LATCHKEY__V1__CREDENTIAL__KIND_AUTHORIZATION_RESPONSE:
      kind = unsafe one(form.pointee.authorization_response).map(Kind.authorizationResponse)
    case LATCHKEY__V1__CREDENTIAL__KIND_PHONE_CODE:
      kind = unsafe one(form.pointee.phone_code).map(Kind.phoneCode)
    case LATCHKEY__V1__CREDENTIAL__KIND_EMAIL_LINK:
      kind = unsafe one(form.pointee.email_link).map(Kind.emailLink)
    case LATCHKEY__V1__CREDENTIAL__KIND_CUSTOM_TOKEN:
      kind = unsafe one(form.pointee.custom_token).map(Kind.customToken)
    case LATCHKEY__V1__CREDENTIAL__KIND_ANONYMOUS:
      kind = unsafe one(form.pointee.anonymous).map(Kind.anonymous)
    case LATCHKEY__V1__CREDENTIAL__KIND_PENDING_TOKEN:
      kind = unsafe .pendingToken(text(form.pointee.pending_token))
    default:
      kind = nil
    }
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__Credential>, _ arena: Arena) {
    switch kind {
    case .password(let value):
      unsafe form.pointee.kind_case = LATCHKEY__V1__CREDENTIAL__KIND_PASSWORD
      unsafe form.pointee.password = arena.form(value)
    case .providerToken(let value):
      unsafe form.pointee.kind_case = LATCHKEY__V1__CREDENTIAL__KIND_PROVIDER_TOKEN
      unsafe form.pointee.provider_token = arena.form(value)
    case .authorizationResponse(let value):
      unsafe form.pointee.kind_case = LATCHKEY__V1__CREDENTIAL__KIND_AUTHORIZATION_RESPONSE
      unsafe form.pointee.authorization_response = arena.form(value)
    case .phoneCode(let value):
      unsafe form.pointee.kind_case = LATCHKEY__V1__CREDENTIAL__KIND_PHONE_CODE
      unsafe form.pointee.phone_code = arena.form(value)
    case .emailLink(let value):
      unsafe form.pointee.kind_case = LATCHKEY__V1__CREDENTIAL__KIND_EMAIL_LINK
      unsafe form.pointee.email_link = arena.form(value)
    case .customToken(let value):
      unsafe form.pointee.kind_case = LATCHKEY__V1__CREDENTIAL__KIND_CUSTOM_TOKEN
      unsafe form.pointee.custom_token = arena.form(value)
    case .anonymous(let value):
      unsafe form.pointee.kind_case = LATCHKEY__V1__CREDENTIAL__KIND_ANONYMOUS
      unsafe form.pointee.anonymous = arena.form(value)
    case .pendingToken(let value):
      unsafe form.pointee.kind_case = LATCHKEY__V1__CREDENTIAL__KIND_PENDING_TOKEN
      unsafe form.pointee.pending_token = arena.text(value)
    case nil:
      break
    }
  }
}

package struct PasswordCredential: Sendable, Equatable {
  package var email: String
  package var password: String

  package init(email: String = "", password: String = "") {
    self.email = email
    self.password = password
  }
}

extension PasswordCredential: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__PasswordCredential> { unsafe latchkey__v1__password_credential__init }

  init(_ form: UnsafePointer<Latchkey__V1__PasswordCredential>) {
    unsafe self.init(email: text(form.pointee.email), password: text(form.pointee.password))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__PasswordCredential>, _ arena: Arena) {
    unsafe form.pointee.email = arena.text(email)
    unsafe form.pointee.password = arena.text(password)
  }
}

package struct ProviderTokenCredential: Sendable, Equatable {
  package var providerID: String
  package var idToken: String
  package var accessToken: String
  package var tokenSecret: String
  package var rawNonce: String

  package init(
    providerID: String = "", idToken: String = "", accessToken: String = "", tokenSecret: String = "",
    rawNonce: String = ""
  ) {
    self.providerID = providerID
    self.idToken = idToken
    self.accessToken = accessToken
    self.tokenSecret = tokenSecret
    self.rawNonce = rawNonce
  }
}

extension ProviderTokenCredential: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ProviderTokenCredential> {
    unsafe latchkey__v1__provider_token_credential__init
  }

  init(_ form: UnsafePointer<Latchkey__V1__ProviderTokenCredential>) {
    unsafe self.init(
      providerID: text(form.pointee.provider_id), idToken: text(form.pointee.id_token),
      accessToken: text(form.pointee.access_token), tokenSecret: text(form.pointee.token_secret),
      rawNonce: text(form.pointee.raw_nonce))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ProviderTokenCredential>, _ arena: Arena) {
    unsafe form.pointee.provider_id = arena.text(providerID)
    unsafe form.pointee.id_token = arena.text(idToken)
    unsafe form.pointee.access_token = arena.text(accessToken)
    unsafe form.pointee.token_secret = arena.text(tokenSecret)
    unsafe form.pointee.raw_nonce = arena.text(rawNonce)
  }
}

package struct AuthorizationResponse: Sendable, Equatable {
  package var flowID: String
  package var callbackURI: String

  package init(flowID: String = "", callbackURI: String = "") {
    self.flowID = flowID
    self.callbackURI = callbackURI
  }
}

extension AuthorizationResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__AuthorizationResponse> { unsafe latchkey__v1__authorization_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__AuthorizationResponse>) {
    unsafe self.init(flowID: text(form.pointee.flow_id), callbackURI: text(form.pointee.callback_uri))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__AuthorizationResponse>, _ arena: Arena) {
    unsafe form.pointee.flow_id = arena.text(flowID)
    unsafe form.pointee.callback_uri = arena.text(callbackURI)
  }
}

package struct PhoneCodeCredential: Sendable, Equatable {
  package var verificationID: String
  package var code: String

  package init(verificationID: String = "", code: String = "") {
    self.verificationID = verificationID
    self.code = code
  }
}

extension PhoneCodeCredential: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__PhoneCodeCredential> { unsafe latchkey__v1__phone_code_credential__init }

  init(_ form: UnsafePointer<Latchkey__V1__PhoneCodeCredential>) {
    unsafe self.init(verificationID: text(form.pointee.verification_id), code: text(form.pointee.code))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__PhoneCodeCredential>, _ arena: Arena) {
    unsafe form.pointee.verification_id = arena.text(verificationID)
    unsafe form.pointee.code = arena.text(code)
  }
}

package struct EmailLinkCredential: Sendable, Equatable {
  package var email: String
  package var code: String

  package init(email: String = "", code: String = "") {
    self.email = email
    self.code = code
  }
}

extension EmailLinkCredential: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__EmailLinkCredential> { unsafe latchkey__v1__email_link_credential__init }

  init(_ form: UnsafePointer<Latchkey__V1__EmailLinkCredential>) {
    unsafe self.init(email: text(form.pointee.email), code: text(form.pointee.code))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__EmailLinkCredential>, _ arena: Arena) {
    unsafe form.pointee.email = arena.text(email)
    unsafe form.pointee.code = arena.text(code)
  }
}

package struct CustomTokenCredential: Sendable, Equatable {
  package var token: String

  package init(token: String = "") {
    self.token = token
  }
}

extension CustomTokenCredential: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__CustomTokenCredential> { unsafe latchkey__v1__custom_token_credential__init }

  init(_ form: UnsafePointer<Latchkey__V1__CustomTokenCredential>) {
    unsafe self.init(token: text(form.pointee.token))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__CustomTokenCredential>, _ arena: Arena) {
    unsafe form.pointee.token = arena.text(token)
  }
}

package struct AnonymousCredential: Sendable, Equatable {
  package init() {}
}

extension AnonymousCredential: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__AnonymousCredential> { unsafe latchkey__v1__anonymous_credential__init }

  init(_ form: UnsafePointer<Latchkey__V1__AnonymousCredential>) {}

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__AnonymousCredential>, _ arena: Arena) {}
}

package struct ClientContext: Sendable, Equatable {
  package var ipAddress: String
  package var userAgent: String
  package var deviceID: String

  package init(ipAddress: String = "", userAgent: String = "", deviceID: String = "") {
    self.ipAddress = ipAddress
    self.userAgent = userAgent
    self.deviceID = deviceID
  }
}

extension ClientContext: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ClientContext> { unsafe latchkey__v1__client_context__init }

  init(_ form: UnsafePointer<Latchkey__V1__ClientContext>) {
    unsafe self.init(
      ipAddress: text(form.pointee.ip_address), userAgent: text(form.pointee.user_agent),
      deviceID: text(form.pointee.device_id))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ClientContext>, _ arena: Arena) {
    unsafe form.pointee.ip_address = arena.text(ipAddress)
    unsafe form.pointee.user_agent = arena.text(userAgent)
    unsafe form.pointee.device_id = arena.text(deviceID)
  }
}
