internal import Crypto
internal import Encodings
internal import TLS
internal import Tokens

/// Documents that verifiers fetch: the public keys and their location.
struct KeyDocuments: Sendable {
  let issuer: String
  /// URL at which verifiers reach this endpoint, without a trailing slash.
  let url: String
  let maxAgeMillis: Int64
  let tokens: TokenIssuer

  private static let keysPath = "/.well-known/jwks.json"
  private static let discoveryPath = "/.well-known/openid-configuration"

  func answer(_ request: HTTPRequest) -> HTTPResponse {
    switch request.path {
    case KeyDocuments.keysPath:
      request.answered { document("application/jwk-set+json", tokens.signingKeys()) }
    case KeyDocuments.discoveryPath:
      request.answered { document("application/json", discovery) }
    default: request.answered(by: nil)
    }
  }

  private func document(_ contentType: String, _ text: String) -> HTTPResponse {
    HTTPResponse(
      status: .ok, contentType: contentType, body: text,
      cacheControl: "public, max-age=\(maxAgeMillis / 1_000)",
      entityTag: "\"\(Base64URL.encode(sha256(Array(text.utf8))))\"")
  }

  /// Discovery document with the applicable members of OpenID Connect Discovery 1.0, section 3. Users sign in through
  /// services over gRPC, so there is no authorization or token endpoint.
  private var discovery: String {
    var writer = JSONWriter()
    writer.open(.object)
    writer.member("issuer", issuer)
    writer.member("jwks_uri", url + KeyDocuments.keysPath)
    writer.member("response_types_supported", ["id_token"])
    writer.member("subject_types_supported", ["public"])
    writer.member("id_token_signing_alg_values_supported", tokens.signingAlgorithms())
    writer.close(.object)
    return writer.text
  }
}

extension HTTPSite {
  /// Creates the site that serves the public keys over HTTPS.
  static func keys(
    _ documents: KeyDocuments, tls: CurrentContext, _ metrics: ServerMetrics, _ limits: Limits
  ) -> HTTPSite {
    HTTPSite(
      name: "keys", connectionsMax: limits.keysConnectionsMax,
      connectionsPerAddressMax: limits.keysConnectionsPerAddressMax, requestBytesMax: limits.keysRequestBytesMax,
      requestMillis: limits.keysRequestMillis, tls: tls,
      refused: { refusal in
        switch refusal {
        case .connections: metrics.refused(.keysConnections)
        case .request: metrics.refused(.keysRequest)
        case .time: metrics.refused(.keysTime)
        case .descriptors: metrics.reached(.descriptors)
        }
      },
      answer: documents.answer)
  }
}
