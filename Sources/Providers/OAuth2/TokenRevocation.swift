import HTTPClient
import Store
import Tokens

// Token revocation (RFC 7009).

extension CodeFlow {
  /// Revokes a token of our client. Throws `ProviderRefusal`.
  ///
  /// - Parameters:
  ///   - tokenEndpoint: the audience of a client assertion, as at the token endpoint (RFC 7523, 3).
  ///   - proof: nil: the flow's own.
  func revoke(
    _ token: RevocableToken, at endpoint: String, tokenEndpoint: String, by proof: ClientProof? = nil, now: Timestamp
  ) async throws {
    guard !endpoint.isEmpty else { throw ProviderRefusal.noRevocationEndpoint }
    let request = try await revocation(of: token, by: proof ?? self.proof, audience: tokenEndpoint, now: now)
    try RevocationAnswer.check(try await calls.post(request.parameters, to: endpoint, fields: request.fields))
  }

  /// Runs off the reactor thread, like the request for tokens.
  @concurrent
  private func revocation(
    of token: RevocableToken, by proof: ClientProof, audience: String, now: Timestamp
  ) async throws -> TokenRequest {
    var request = TokenRequest(
      parameters: [Parameter("token", token.text), Parameter("token_type_hint", token.kind.rawValue)],
      uniqueText: "\(now.millis) \(token.text)")
    try proof.attach(to: &request, clientID: authorization.clientID, at: audience, now: now)
    return request
  }
}

extension OIDCClient {
  func revoke(_ token: RevocableToken, at now: Timestamp) async throws {
    guard let flow else {
      throw ProviderRefusal.cannotRevoke(hint: "Ask the operator to set the client's credentials at this provider.")
    }
    let (endpoints, metadata) = try await served(at: now)
    try await flow.revoke(
      token, at: endpoints.revocation, tokenEndpoint: endpoints.token, by: try proof(for: metadata), now: now)
  }
}

extension ProviderRefusal {
  static let noRevocationEndpoint = ProviderRefusal.cannotRevoke(
    hint: "This provider has no endpoint that revokes tokens; the operator can set `revocation_url`.")
}

/// The response of a revocation endpoint (RFC 7009, 2.2).
enum RevocationAnswer {
  /// Returns if the token is invalid now. Only the status decides, but some providers report an error with status 200.
  static func check(_ answer: FetchedBody) throws(ProviderRefusal) {
    guard answer.status < 500, answer.status != 429 else {
      throw .unavailable(why: "the revocation endpoint answers with status \(answer.status)")
    }
    let document = try? JSONValue.parseLeniently(
      answer.bytes, byteCountMax: TokenAnswer.bodyBytesMax, decisive: ["error"])
    if let error = document?["error"]?.string, !error.isEmpty {
      return try check(error, document?["error_description"]?.string)
    }
    guard !(200..<300).contains(answer.status) else { return try requireNoPage(answer) }
    let why = "the revocation endpoint answers with status \(answer.status)"
    if let fix = Fault.fix(endpointStatus: answer.status, "revocation_url") {
      throw .misconfigured(why: why, fix: fix)
    }
    throw (400...403).contains(answer.status) ? .refused(why: why) : .unavailable(why: why)
  }

  private static func check(_ error: String, _ description: String?) throws(ProviderRefusal) {
    switch error.lowercased() {
    // Google's answer for a token that is invalid already.
    case "invalid_token": return
    case "unsupported_token_type":
      throw .invalidParameter(name: "token.kind", hint: "The provider does not revoke tokens of this kind.")
    default: throw TokenEndpointError.refusal(.string(error), description)
    }
  }

  /// Rejects a page, which a proxy sends instead of the provider. The token would stay valid.
  private static func requireNoPage(_ answer: FetchedBody) throws(ProviderRefusal) {
    guard answer.bytes.isEmpty || !answer.contentType.lowercased().hasPrefix("text/html") else {
      throw .unavailable(why: "the revocation endpoint answers with a page")
    }
  }
}
