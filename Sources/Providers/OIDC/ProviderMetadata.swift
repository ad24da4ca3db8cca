import Tokens

/// What a provider says of itself (OpenID Connect Discovery 1.0, 3).
struct ProviderMetadata: Hashable, Sendable {
  static let bytesMax = 64 * 1024

  var keySetURL: String
  /// Empty: it is not said.
  var endpoints = Endpoints()
  /// RFC 9207, 3: every response of the authorization endpoint names its issuer.
  var responsesNameIssuer = false

  struct Defect: Error {
    let why: String
  }

  init(_ bytes: [UInt8], issuer expected: String) throws(Defect) {
    guard let metadata = try? JSONValue.parse(bytes, byteCountMax: ProviderMetadata.bytesMax) else {
      throw Defect(why: "is no JSON document")
    }
    // Discovery 1.0, 4.3: exactly, or one provider could hand out keys in the name of another.
    guard let issuer = metadata["issuer"]?.string, issuer.utf8.elementsEqual(expected.utf8) else {
      throw Defect(why: "is of another issuer")
    }
    keySetURL = try ProviderMetadata.url(metadata, "jwks_uri")
    guard !keySetURL.isEmpty else { throw Defect(why: "names no https jwks_uri") }
    endpoints.authorization = try ProviderMetadata.url(metadata, "authorization_endpoint")
    endpoints.token = try ProviderMetadata.url(metadata, "token_endpoint")
    endpoints.profile = try ProviderMetadata.url(metadata, "userinfo_endpoint")
    responsesNameIssuer = metadata["authorization_response_iss_parameter_supported"]?.bool == true
  }

  private static func url(_ metadata: JSONValue, _ name: String) throws(Defect) -> String {
    guard let value = metadata.optional(name) else { return "" }
    guard let url = value.string, url.hasPrefix("https://"),
      url.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") })
    else { throw Defect(why: "names no https \(name)") }
    return url
  }
}
