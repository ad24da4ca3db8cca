import Tokens

/// A provider's metadata (OpenID Connect Discovery 1.0, 3).
///
/// Every use needs only `issuer` and `jwks_uri`. An endpoint that is not an https URL counts as absent, so it matters
/// only to its users.
struct ProviderMetadata: Hashable, Sendable {
  static let bytesMax = 256 * 1024

  var keySetURL: String
  /// Empty if absent.
  var endpoints = Endpoints()
  /// RFC 9207, 3: every response of the authorization endpoint names its issuer.
  var responsesNameIssuer = false
  /// How clients may authenticate at the token endpoint; nil if absent, which means `client_secret_basic`.
  var tokenAuthentication: [String]?

  struct Defect: Error {
    let why: String
    /// nil if the fault may pass.
    var fix: String?
  }

  init(_ bytes: [UInt8], issuer expected: String) throws(Defect) {
    let metadata = try ProviderMetadata.parse(bytes)
    // Discovery 1.0, 4.3: it must match exactly, or one provider could publish keys in the name of another.
    guard let issuer = metadata["issuer"]?.string else { throw Defect(why: "names no issuer") }
    guard issuer.utf8.elementsEqual(expected.utf8) else {
      let said = LoggedText.of(issuer, nil)
      throw Defect(
        why: "has another issuer: \(said)",
        fix: "Set `discovery_url` to the document of \(expected), or `issuers` to the document's issuer.")
    }
    keySetURL = ProviderMetadata.url(metadata, "jwks_uri")
    guard !keySetURL.isEmpty else {
      throw Defect(why: "names no https jwks_uri", fix: "Set `jwks_url` and the endpoints instead of `discovery_url`.")
    }
    endpoints.authorization = ProviderMetadata.url(metadata, "authorization_endpoint")
    endpoints.token = ProviderMetadata.url(metadata, "token_endpoint")
    endpoints.profile = ProviderMetadata.url(metadata, "userinfo_endpoint")
    // RFC 8414, 2.
    endpoints.revocation = ProviderMetadata.url(metadata, "revocation_endpoint")
    responsesNameIssuer = metadata["authorization_response_iss_parameter_supported"]?.bool == true
    let methods = (metadata["token_endpoint_auth_methods_supported"]?.array ?? []).compactMap(\.string)
    tokenAuthentication = methods.isEmpty ? nil : methods
  }

  private static func parse(_ bytes: [UInt8]) throws(Defect) -> JSONValue {
    do throws(JSONError) {
      return try JSONValue.parseLeniently(bytes, byteCountMax: bytesMax, decisive: ["issuer", "jwks_uri"])
    } catch {
      guard case .duplicateName(let name) = error else { throw Defect(why: "is no JSON document") }
      throw Defect(why: "names two values of \(name)", fix: "Have the provider correct its discovery document.")
    }
  }

  private static func url(_ metadata: JSONValue, _ name: String) -> String {
    guard let url = metadata[name]?.string, url.hasPrefix("https://"),
      url.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") })
    else { return "" }
    return url
  }
}
