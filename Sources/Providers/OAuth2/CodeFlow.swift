import HTTPClient
import Store
import Tokens

/// A request to a token endpoint that is being built.
struct TokenRequest {
  var parameters: [Parameter]
  var fields: [FetchRequest.Field] = []
  /// Different for every request.
  let uniqueText: String

  mutating func add(_ name: String, _ value: String) { parameters.append(Parameter(name, value)) }
}

/// The authorization code grant (RFC 6749, 4.1) of our client at one provider.
///
/// We send the user to the provider, receive a code, and redeem it for tokens, which proves their audience. An adapter
/// creates a flow from its settings, sets what its provider does differently, and defines the provider's users.
struct CodeFlow: Sendable {
  var authorization: AuthorizationRequest
  let proof: ClientProof
  var scopeSeparators: Set<UInt8> = [UInt8(ascii: " ")]
  var vendorErrors = VendorErrors.none
  let calls: ProviderCalls

  init(_ settings: ProviderSettings, proof: ClientProof, fetching: any HTTPSFetching) {
    authorization = AuthorizationRequest(
      providerID: settings.id, clientID: settings.clientIDs.first ?? "", basicScopes: settings.scopes,
      callerParameters: settings.callerParameters, sendsProofKey: settings.usesProofKey)
    self.proof = proof
    calls = ProviderCalls(providerID: settings.id, fetching: fetching)
  }

  func start(_ flow: FlowRequest, at endpoint: String) throws(ProviderRefusal) -> StartedFlow {
    StartedFlow(
      authorizationURL: try authorization.url(endpoint, for: flow), responseMode: authorization.responseMode)
  }

  /// Redeems the code of this callback for tokens. Throws `ProviderRefusal`.
  ///
  /// - Parameter proof: nil: the flow's own.
  func redeem(
    _ callback: Callback, of flow: FlowState, from sender: AuthorizationResponse.Sender, at endpoint: String,
    by proof: ClientProof? = nil, now: Timestamp
  ) async throws -> TokenAnswer {
    let code = try AuthorizationResponse.code(in: callback, of: flow, from: sender)
    return try await tokens(for: code, of: flow, at: endpoint, by: proof, now: now)
  }

  func tokens(
    for code: String, of flow: FlowState, at endpoint: String, by proof: ClientProof?, now: Timestamp
  ) async throws -> TokenAnswer {
    let request = try await tokenRequest(code, of: flow, at: endpoint, by: proof ?? self.proof, now: now)
    let answer = try await calls.post(request.parameters, to: endpoint, fields: request.fields)
    return try TokenAnswer.read(status: answer.status, answer.bytes, scopeSeparators: scopeSeparators, vendorErrors)
  }

  /// Builds the request (RFC 6749, 4.1.3). It runs off the reactor thread, because the client assertion may need an RSA
  /// signature.
  @concurrent
  private func tokenRequest(
    _ code: String, of flow: FlowState, at endpoint: String, by proof: ClientProof, now: Timestamp
  ) async throws -> TokenRequest {
    var request = TokenRequest(
      parameters: [Parameter("grant_type", "authorization_code"), Parameter("code", code)],
      uniqueText: flow.state + code)
    // The code of a native kit came without a redirect.
    if !flow.redirectURI.isEmpty { request.add("redirect_uri", flow.redirectURI) }
    if authorization.sendsProofKey { request.add("code_verifier", flow.codeVerifier) }
    try proof.attach(to: &request, clientID: authorization.clientID, at: endpoint, now: now)
    return request
  }
}
