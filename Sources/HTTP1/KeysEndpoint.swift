internal import Crypto
internal import Encodings
package import Observability
package import TLS
internal import Tokens

/// The keys that verify tokens, as the documents present them.
package protocol PublicKeys: Sendable {
  /// The JSON Web Key Set.
  func signingKeys() -> String
  /// Algorithms of the published keys, without duplicates.
  func signingAlgorithms() -> [String]
}

/// Documents that verifiers fetch: the public keys and their location.
package struct KeyDocuments: Sendable {
  package let issuer: String
  /// URL at which verifiers reach this endpoint, without a trailing slash.
  package let url: String
  package let maxAgeMillis: Int64
  let keys: any PublicKeys

  package init(issuer: String, url: String, maxAgeMillis: Int64, keys: any PublicKeys) {
    self.issuer = issuer
    self.url = url
    self.maxAgeMillis = maxAgeMillis
    self.keys = keys
  }

  private static let keysPath = "/.well-known/jwks.json"
  private static let discoveryPath = "/.well-known/openid-configuration"

  package func answer(_ request: HTTPRequest) -> HTTPResponse {
    switch request.path {
    case KeyDocuments.keysPath:
      request.answered { document("application/jwk-set+json", keys.signingKeys()) }
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
    writer.member("id_token_signing_alg_values_supported", keys.signingAlgorithms())
    writer.close(.object)
    return writer.text
  }
}

extension HTTPSite {
  /// Creates the site that serves the public keys over HTTPS.
  package static func keys(
    _ documents: KeyDocuments, tls: CurrentContext, _ metrics: ServerMetrics, _ limits: Limits
  ) -> HTTPSite {
    HTTPSite(
      name: "keys", limits: limits, tls: tls,
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
