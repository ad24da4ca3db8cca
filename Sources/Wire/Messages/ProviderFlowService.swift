// The meaning of each field stands in proto/latchkey/v1/provider_flow_service.proto.

internal import Messages

package struct StartFlowRequest: Sendable, Equatable {
  package var providerID: String
  package var redirectURI: String
  package var scopes: [String]
  package var customParameters: [String: String]
  package var loginHint: String
  /// nil: a number that is no purpose.
  package var purpose: ProofPurpose?
  package var idToken: String
  package var client: ClientContext?
  package var binding: String

  package init(
    providerID: String = "", redirectURI: String = "", scopes: [String] = [], customParameters: [String: String] = [:],
    loginHint: String = "", purpose: ProofPurpose? = .unspecified, idToken: String = "", client: ClientContext? = nil,
    binding: String = ""
  ) {
    self.providerID = providerID
    self.redirectURI = redirectURI
    self.scopes = scopes
    self.customParameters = customParameters
    self.loginHint = loginHint
    self.purpose = purpose
    self.idToken = idToken
    self.client = client
    self.binding = binding
  }
}

extension StartFlowRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__StartFlowRequest> { unsafe latchkey__v1__start_flow_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__StartFlowRequest>) {
    unsafe self.init(
      providerID: text(form.pointee.provider_id), redirectURI: text(form.pointee.redirect_uri),
      scopes: texts(form.pointee.n_scopes, form.pointee.scopes),
      customParameters: Entry.dictionary(list(form.pointee.n_custom_parameters, form.pointee.custom_parameters)),
      loginHint: text(form.pointee.login_hint),
      purpose: ProofPurpose(rawValue: Int32(bitPattern: form.pointee.purpose.rawValue)),
      idToken: text(form.pointee.id_token), client: one(form.pointee.client), binding: text(form.pointee.binding))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__StartFlowRequest>, _ arena: Arena) {
    unsafe form.pointee.provider_id = arena.text(providerID)
    unsafe form.pointee.redirect_uri = arena.text(redirectURI)
    unsafe (form.pointee.n_scopes, form.pointee.scopes) = arena.texts(scopes)
    unsafe (form.pointee.n_custom_parameters, form.pointee.custom_parameters) = arena.list(
      Entry.list(customParameters))
    unsafe form.pointee.login_hint = arena.text(loginHint)
    // No purpose stays none: unspecified means one.
    unsafe form.pointee.purpose = Latchkey__V1__FlowPurpose(rawValue: UInt32(bitPattern: purpose?.rawValue ?? -1))
    unsafe form.pointee.id_token = arena.text(idToken)
    unsafe form.pointee.client = arena.one(client)
    unsafe form.pointee.binding = arena.text(binding)
  }
}

extension StartFlowRequest {
  struct Entry: Sendable {
    let key: String
    let value: String
  }
}

extension StartFlowRequest.Entry: @unsafe MapEntry {
  static var blank: Blank<Latchkey__V1__StartFlowRequest__CustomParametersEntry> {
    unsafe latchkey__v1__start_flow_request__custom_parameters_entry__init
  }

  init(_ form: UnsafePointer<Latchkey__V1__StartFlowRequest__CustomParametersEntry>) {
    unsafe self.init(key: text(form.pointee.key), value: text(form.pointee.value))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__StartFlowRequest__CustomParametersEntry>, _ arena: Arena) {
    unsafe form.pointee.key = arena.text(key)
    unsafe form.pointee.value = arena.text(value)
  }
}

package struct StartFlowResponse: Sendable, Equatable {
  package var flowID: String
  package var authorizationURL: String
  package var expiresAtMillis: Int64?
  package var responseMode: String

  package init(
    flowID: String = "", authorizationURL: String = "", expiresAtMillis: Int64? = nil, responseMode: String = ""
  ) {
    self.flowID = flowID
    self.authorizationURL = authorizationURL
    self.expiresAtMillis = expiresAtMillis
    self.responseMode = responseMode
  }
}

extension StartFlowResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__StartFlowResponse> { unsafe latchkey__v1__start_flow_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__StartFlowResponse>) {
    unsafe self.init(
      flowID: text(form.pointee.flow_id), authorizationURL: text(form.pointee.authorization_url),
      expiresAtMillis: millis(form.pointee.expires_at), responseMode: text(form.pointee.response_mode))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__StartFlowResponse>, _ arena: Arena) {
    unsafe form.pointee.flow_id = arena.text(flowID)
    unsafe form.pointee.authorization_url = arena.text(authorizationURL)
    unsafe form.pointee.expires_at = arena.timestamp(expiresAtMillis)
    unsafe form.pointee.response_mode = arena.text(responseMode)
  }
}

package struct ListProvidersRequest: Sendable, Equatable {
  package init() {}
}

extension ListProvidersRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ListProvidersRequest> { unsafe latchkey__v1__list_providers_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__ListProvidersRequest>) {}

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ListProvidersRequest>, _ arena: Arena) {}
}

package struct ListProvidersResponse: Sendable, Equatable {
  package var providerIDs: [String]
  package var flowProviderIDs: [String]

  package init(providerIDs: [String] = [], flowProviderIDs: [String] = []) {
    self.providerIDs = providerIDs
    self.flowProviderIDs = flowProviderIDs
  }
}

extension ListProvidersResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ListProvidersResponse> { unsafe latchkey__v1__list_providers_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__ListProvidersResponse>) {
    unsafe self.init(
      providerIDs: texts(form.pointee.n_provider_ids, form.pointee.provider_ids),
      flowProviderIDs: texts(form.pointee.n_flow_provider_ids, form.pointee.flow_provider_ids))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ListProvidersResponse>, _ arena: Arena) {
    unsafe (form.pointee.n_provider_ids, form.pointee.provider_ids) = arena.texts(providerIDs)
    unsafe (form.pointee.n_flow_provider_ids, form.pointee.flow_provider_ids) = arena.texts(flowProviderIDs)
  }
}
