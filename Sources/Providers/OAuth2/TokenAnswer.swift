import Tokens

/// The response of a token endpoint (RFC 6749, 5).
package struct TokenAnswer: Equatable, Sendable {
  package static let bodyBytesMax = 64 * 1024
  /// Maximum length in bytes of a token that goes into a header. A token that the caller only receives may be as long
  /// as the response.
  package static let tokenBytesMax = 8192
  package static let scopesMax = 64

  package var own = ProvidersOwnTokens()

  /// Reads a response.
  ///
  /// - Parameter scopeSeparators: RFC 6749 has the blank, some providers the comma.
  package static func read(
    status: Int, _ body: [UInt8], scopeSeparators: Set<UInt8> = [UInt8(ascii: " ")], _ vendors: VendorErrors = .none
  ) throws(ProviderRefusal) -> TokenAnswer {
    guard body.count <= bodyBytesMax else { throw .unavailable(why: "the response of the token endpoint is too large") }
    // The response of a failing server is not about the code.
    guard status < 500, status != 429 else {
      throw .unavailable(why: "the token endpoint answers with status \(status)")
    }
    let document = try document(body, status)
    // GitHub sends errors with status 200. An empty value means that there is no error.
    if let error = document["error"], !error.isEmpty {
      throw vendors.refusal(document) ?? TokenEndpointError.refusal(error, document["error_description"]?.string)
    }
    guard status == 200 else {
      let why = LoggedText.of("the token endpoint answers with status \(status)", document["message"]?.string)
      try requireEndpoint(status)
      // Some providers have other members for what RFC 6749 calls `error`.
      throw (400...403).contains(status) ? .refused(why: why) : .unavailable(why: why)
    }
    return try TokenAnswer(document, scopeSeparators)
  }

  /// Parses the body. A duplicate member counts as absent, unless it determines the kind of response.
  private static func document(_ body: [UInt8], _ status: Int) throws(ProviderRefusal) -> JSONValue {
    let document: JSONValue?
    do throws(JSONError) {
      document = try JSONValue.parseLeniently(
        body, byteCountMax: bodyBytesMax, decisive: ["error", "access_token", "id_token", "token_type"])
    } catch {
      if case .duplicateName(let name) = error {
        throw .unavailable(why: "the token endpoint answers with two values of \(name)")
      }
      document = nil
    }
    guard let document, document.members != nil else {
      try requireEndpoint(status)
      throw .unavailable(why: "the token endpoint answers with status \(status) and no JSON object")
    }
    return document
  }

  private static func requireEndpoint(_ status: Int) throws(ProviderRefusal) {
    guard let fix = Fault.fix(endpointStatus: status, "token_url") else { return }
    throw .misconfigured(why: "the token endpoint answers with status \(status)", fix: fix)
  }

  private init(_ document: JSONValue, _ scopeSeparators: Set<UInt8>) throws(ProviderRefusal) {
    // Some providers omit it. Any other type needs a proof at each use, which this service cannot give (RFC 6749, 7.1).
    if let type = document["token_type"], !type.isEmpty {
      guard type.string?.lowercased() == "bearer" else { throw .refused(why: "the access token is not a bearer token") }
    }
    guard let accessToken = document["access_token"]?.string,
      TokenAnswer.isToken(accessToken, bytesMax: TokenAnswer.bodyBytesMax)
    else {
      throw .unavailable(why: "the token endpoint answers without a usable access_token")
    }
    own.accessToken = accessToken
    own.idToken = TokenAnswer.token(document, "id_token", bytesMax: JWS.byteCountMax)
    own.refreshToken = TokenAnswer.token(document, "refresh_token", bytesMax: TokenAnswer.bodyBytesMax)
    own.expiresInSeconds = TokenAnswer.seconds(document["expires_in"])
    own.grantedScopes = TokenAnswer.scopes(document["scope"], scopeSeparators)
  }

  /// Returns an empty text if the token is absent or not usable. A caller that needs the token rejects the response.
  private static func token(_ document: JSONValue, _ name: String, bytesMax: Int) -> String {
    guard let text = document[name]?.string, isToken(text, bytesMax: bytesMax) else { return "" }
    return text
  }

  /// Returns whether the text can be a token (RFC 6749, Appendix A.12): visible ASCII. In a header, a line end would
  /// begin another field.
  static func isToken(_ text: String, bytesMax: Int = tokenBytesMax) -> Bool {
    (1...bytesMax).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  /// Reads a number, or a number as text, without its fraction. The caller only receives it, so an invalid value counts
  /// as absent.
  private static func seconds(_ value: JSONValue?) -> Int64? {
    let number = value?.string.flatMap { Int64($0).map { .int($0) } ?? Double($0).map { .double($0) } } ?? value
    return life(number?.numericDate)
  }

  /// Returns a lifetime of at most 68 years, which also fits in milliseconds; nil for any other value.
  static func life(_ seconds: Int64?) -> Int64? {
    seconds.flatMap { (0...Int64(Int32.max)).contains($0) ? $0 : nil }
  }

  /// Returns the first `scopesMax` scopes of a text, or of an array of texts as some providers write it.
  static func scopes(_ value: JSONValue?, _ separators: Set<UInt8>) -> [String] {
    let texts = value?.string.map { [$0] } ?? value?.strings ?? []
    let scopes = texts.flatMap { text in
      text.utf8.split { separators.contains($0) }.map { String(decoding: Array($0), as: UTF8.self) }
    }
    return Array(scopes.prefix(scopesMax))
  }
}

/// Error responses that only one provider defines. The result nil means that RFC 6749 applies.
package struct VendorErrors: Sendable {
  package static let none = VendorErrors { _ in nil }

  let refusal: @Sendable (JSONValue) -> ProviderRefusal?

  init(_ refusal: @escaping @Sendable (JSONValue) -> ProviderRefusal?) { self.refusal = refusal }
}

extension VendorErrors {
  /// Creates the errors of a provider that reports an invalid code as our invalid request, and mentions the code only
  /// in its description.
  ///
  /// - Parameter errors: the provider's names for it, in lower case.
  static func badCode(as errors: Set<String>) -> VendorErrors {
    VendorErrors { document in
      guard let error = document["error"]?.string, errors.contains(error.lowercased()),
        let description = document["error_description"]?.string,
        description.lowercased().contains("authorization code")
      else { return nil }
      return .invalid(why: LoggedText.of(error, description))
    }
  }
}

/// The errors of RFC 6749, 5.2, in any case: Yahoo documents its errors in capitals.
enum TokenEndpointError {
  static func refusal(_ error: JSONValue, _ description: String?) -> ProviderRefusal {
    guard let code = error.string else { return .refused(why: "the token endpoint answers with an error object") }
    let why = LoggedText.of(code, description)
    switch code.lowercased() {
    // The code is spent, expired, or belongs to another client, redirect URI or verifier.
    case "invalid_grant": return .invalid(why: why)
    case "server_error", "temporarily_unavailable", "slow_down": return .unavailable(why: why)
    default: return .refused(why: why)
    }
  }
}

extension JSONValue {
  /// Whether the value is null or another form of "none".
  fileprivate var isEmpty: Bool {
    switch self {
    case .null, .bool(false), .string(""), .int(0), .array([]), .object([]): true
    default: false
    }
  }
}
