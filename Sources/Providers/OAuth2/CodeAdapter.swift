import HTTPClient
import Store

/// A provider of plain OAuth 2: the code flow, and the identity of an access token's bearer. Adapters differ in how
/// they create their flow and read their profile.
protocol CodeAdapter: Adapter, StartsFlows, RevokesTokens {
  var settings: ProviderSettings { get }
  var flow: CodeFlow { get }
}

extension CodeAdapter {
  var id: String { settings.id }

  func hint(instead kind: CredentialKind) -> String { Hint.flow(at: id) }

  func start(_ request: FlowRequest, at now: Timestamp) async throws -> StartedFlow {
    try flow.start(request, at: settings.endpoints.authorization)
  }

  /// Redeems the code of this callback for tokens. Throws `ProviderRefusal`.
  func redeem(_ callback: Callback, of state: FlowState, at now: Timestamp) async throws -> TokenAnswer {
    try await flow.redeem(callback, of: state, from: .init(settings), at: settings.endpoints.token, now: now)
  }

  func revoke(_ token: RevocableToken, at now: Timestamp) async throws {
    try await flow.revoke(
      token, at: settings.endpoints.revocation, tokenEndpoint: settings.endpoints.token, now: now)
  }
}
