internal import Identity
internal import Store
internal import API
internal import Protobuf

/// latchkey.v1.ProviderFlowService: starts sign-in flows on the pages of providers, and revokes tokens of
/// providers.
package struct ProviderFlowService: Sendable {
  private let shared: HandlerContext

  package init(_ shared: HandlerContext) { self.shared = shared }

  package var methods: [Method] { [startFlow, revokeToken, listProviders] }

  private var startFlow: Method {
    .unary(ProviderFlowRPC.startFlow) { request, message, context, _ in
      let call = try shared.facts(context, message, client: request.client, binding: request.binding)
      let order = try Shape.flow(request)
      context.notes?.presents(order.providerID)
      let start = StartFlow(shared.environment)
      return .task {
        do {
          let started = try await start(order, call)
          call.notes?.ended(.flowStarted)
          return StartFlowResponse(
            flowID: started.flowID, authorizationURL: started.authorizationURL,
            expiresAtMillis: started.expiresAt.millis, responseMode: ResponseMode(started.responseMode))
        } catch {
          throw shared.noted(error, FailedAttempt("StartFlow", method: order.providerID), call)
        }
      }
    }
  }

  private var revokeToken: Method {
    .unary(ProviderFlowRPC.revokeToken) { request, message, context, _ in
      let call = try shared.facts(
        context, message, client: request.client,
        idempotencyKey: IdempotencyKey(request.idempotencyKey, of: RevokeTokenRequest.self))
      let idToken = try Shape.token(request.idToken, "id_token")
      let token = try Shape.tokenToRevoke(request.token, "token")
      let revoke = RevokeToken(shared.environment)
      return .task {
        try await revoke(token, idToken: idToken, call)
        return RevokeTokenResponse()
      }
    }
  }

  private var listProviders: Method {
    .unary(ProviderFlowRPC.listProviders, isLookUp: true) { _, _, _, arena in
      let answer = ListProvidersResponse(
        providerIDs: shared.environment.policy.enabledProviderIDs.sorted(),
        flowProviderIDs: shared.environment.providers.flowProviderIDs.sorted())
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

  /// Validates a token of a provider. Only Apple's applications have client ids and codes that are not our own.
  static func tokenToRevoke(_ token: API.TokenToRevoke?, _ path: String) throws -> Identity.TokenToRevoke {
    let token = token ?? API.TokenToRevoke()
    let revoked = Identity.TokenToRevoke(
      providerID: try required(token.providerID, path + ".provider_id", bytesMax: providerIDBytesMax),
      text: try required(token.token, path + ".token", bytesMax: tokenBytesMax),
      kind: try tokenKind(token.kind, path + ".kind"),
      clientID: try text(token.clientID, path + ".client_id", bytesMax: subjectBytesMax),
      redirectURI: try text(token.redirectURI, path + ".redirect_uri", bytesMax: urlBytesMax))
    guard revoked.clientID.isEmpty || revoked.providerID == "apple.com" else {
      throw invalid(path + ".client_id", "Leave client_id empty: only apple.com has several.")
    }
    guard revoked.redirectURI.isEmpty || revoked.kind == .authorizationCode else {
      throw invalid(path + ".redirect_uri", "Leave redirect_uri empty: only an authorization code has one.")
    }
    return revoked
  }

  private static func scopes(_ scopes: [String]) throws -> [String] {
    guard scopes.count <= scopesMax else { throw invalid("scopes", "Send at most \(scopesMax) scopes.") }
    for scope in scopes { _ = try required(scope, "scopes", bytesMax: scopeBytesMax) }
    return scopes
  }

  private static func customParameters(_ parameters: [String: String]) throws -> [String: String] {
    guard parameters.count <= customParametersMax else {
      throw invalid("custom_parameters", "Send at most \(customParametersMax) parameters.")
    }
    for (name, value) in parameters {
      _ = try required(name, "custom_parameters", bytesMax: customParameterBytesMax)
      _ = try text(value, "custom_parameters", bytesMax: customParameterBytesMax)
    }
    return parameters
  }
}
