internal import Identity
internal import Store
internal import API

/// latchkey.v1.ProviderFlowService: sending people to a provider's pages.
package struct ProviderFlowService: Sendable {
  private let desk: Desk

  package init(_ desk: Desk) { self.desk = desk }

  package var methods: [Method] { [startFlow, listProviders] }

  private var startFlow: Method {
    .unary(ProviderFlowRPC.startFlow) { request, message, context, _ in
      let call = try desk.facts(context, message, client: request.client, binding: request.binding)
      let order = try Shape.flow(request)
      let start = StartFlow(desk.environment)
      return .task {
        let started = try await start(order, call)
        return StartFlowResponse(
          flowID: started.flowID, authorizationURL: started.authorizationURL,
          expiresAtMillis: started.expiresAt.millis, responseMode: started.responseMode)
      }
    }
  }

  private var listProviders: Method {
    .unary(ProviderFlowRPC.listProviders, isLookUp: true) { _, _, _, arena in
      let answer = ListProvidersResponse(
        providerIDs: desk.environment.policy.enabledProviderIDs.sorted(),
        flowProviderIDs: desk.environment.providers.flowProviderIDs.sorted())
      return .answer(answer.encode(arena: arena))
    }
  }
}

extension Shape {
  static func flow(_ request: API.StartFlowRequest) throws -> Identity.StartFlowRequest {
    let purpose = try purpose(request.purpose, idToken: request.idToken)
    return Identity.StartFlowRequest(
      providerID: try required(request.providerID, "provider_id", bytesMax: providerIDBytesMax),
      redirectURI: try required(request.redirectURI, "redirect_uri", bytesMax: urlBytesMax),
      scopes: try scopes(request.scopes), parameters: try customParameters(request.customParameters),
      loginHint: try text(request.loginHint, "login_hint", bytesMax: loginHintBytesMax), purpose: purpose,
      idToken: try text(request.idToken, "id_token", bytesMax: tokenBytesMax))
  }

  private static func scopes(_ scopes: [String]) throws -> [String] {
    guard scopes.count <= scopesMax else { throw invalid("scopes", "At most \(scopesMax).") }
    for scope in scopes { _ = try required(scope, "scopes", bytesMax: scopeBytesMax) }
    return scopes
  }

  private static func customParameters(_ parameters: [String: String]) throws -> [String: String] {
    guard parameters.count <= customParametersMax else {
      throw invalid("custom_parameters", "At most \(customParametersMax).")
    }
    for (name, value) in parameters {
      _ = try required(name, "custom_parameters", bytesMax: customParameterBytesMax)
      _ = try text(value, "custom_parameters", bytesMax: customParameterBytesMax)
    }
    return parameters
  }
}
