/// Parameters that no caller may set in an authorization request, for any provider (check 66). With one of them a
/// caller could redirect the code, bind it to another session, or request more than the flow states.
enum ReservedParameters {
  static let names: Set<String> = [
    "client_id", "client_secret", "response_type", "response_mode", "redirect_uri", "scope", "state", "nonce", "code",
    "code_challenge", "code_challenge_method", "code_verifier", "grant_type", "request", "request_uri", "registration",
    "id_token_hint", "max_age", "appsecret_proof",
  ]
  /// The prefixes of client assertions and of every OAuth 1.0a parameter.
  static let prefixes = ["client_assertion", "oauth_"]

  /// Returns the reserved name or prefix that a name matches; nil if none. The comparison ignores case, because a
  /// provider may treat `State` as `state`.
  static func match(_ name: String) -> String? {
    let name = name.lowercased()
    return names.contains(name) ? name : prefixes.first { name.hasPrefix($0) }.map { $0 + "*" }
  }
}

/// The request to a provider's authorization endpoint (RFC 6749, 4.1.1), and what a caller may add. Services checks the
/// number and the length of a caller's values.
struct AuthorizationRequest: Sendable {
  let providerID: String
  var clientID: String
  /// Part of every request, before the caller's own.
  var basicScopes: [String]
  var scopeSeparator = " "
  /// Parameters that a caller may set, by exact name.
  var callerParameters: Set<String>
  var sendsProofKey: Bool
  /// OpenID Connect Core 3.1.2.1; plain OAuth has no nonce.
  var sendsNonce = false
  var responseMode = StartedFlow.ResponseMode.query
  /// nil if the provider accepts no hint. The request then omits a caller's.
  var loginHintName: String? = "login_hint"
  /// Parameters that make the provider re-authenticate the user (check 88). They override a caller's. Empty if the
  /// provider cannot do this.
  var freshLogin: [String: String] = [:]

  init(providerID: String, clientID: String, basicScopes: [String], callerParameters: Set<String>, sendsProofKey: Bool)
  {
    self.providerID = providerID
    self.clientID = clientID
    self.basicScopes = basicScopes
    self.callerParameters = callerParameters
    self.sendsProofKey = sendsProofKey
  }

  /// Returns the URL of the request. Parameters are in the order of their names, so the same flow has the same URL.
  func url(_ endpoint: String, for flow: FlowRequest) throws(ProviderRefusal) -> String {
    URLEncoding.url(endpoint, adding: try completed(try ours(flow), for: flow))
  }

  /// Returns the protocol's own parameters with the login hint and the caller's parameters.
  func completed(
    _ ours: [String: String], for flow: FlowRequest
  ) throws(ProviderRefusal) -> [Parameter] {
    var parameters = ours
    if flow.freshLogin { parameters.merge(freshLogin) { _, fresh in fresh } }
    if let loginHintName, !flow.loginHint.isEmpty {
      guard AuthorizationRequest.isValue(flow.loginHint) else {
        throw .invalidParameter(name: "login_hint", hint: AuthorizationRequest.valueHint)
      }
      parameters[loginHintName] = flow.loginHint
    }
    try check(flow.parameters)
    let asked = flow.parameters["prompt"] ?? ""
    guard !flow.freshLogin || !asked.split(separator: " ").contains("none") else {
      throw .invalidParameter(name: "custom_parameters", hint: "Omit `prompt=none` from a reauthentication.")
    }
    for (name, value) in flow.parameters {
      // A caller uses one set of parameters for sign-in and reauthentication. For the latter, our parameters take
      // precedence.
      if flow.freshLogin, freshLogin[name] != nil { continue }
      guard parameters[name] == nil || parameters[name] == value else {
        throw .invalidParameter(name: "custom_parameters", hint: "Omit \(name): this flow sets it to another value.")
      }
      parameters[name] = value
    }
    return parameters.sorted { $0.key < $1.key }.map { Parameter($0.key, $0.value) }
  }

  private func ours(_ flow: FlowRequest) throws(ProviderRefusal) -> [String: String] {
    var parameters = [
      "client_id": clientID, "redirect_uri": flow.redirectURI, "response_type": "code", "state": flow.state,
    ]
    let scopes = try self.scopes(adding: flow.scopes)
    if !scopes.isEmpty { parameters["scope"] = scopes.joined(separator: scopeSeparator) }
    if responseMode != .query { parameters["response_mode"] = responseMode.rawValue }
    if sendsNonce { parameters["nonce"] = flow.nonce }
    if sendsProofKey {
      guard ProofKey.isVerifier(flow.codeVerifier) else { throw .invalid(why: "the code verifier violates RFC 7636") }
      parameters["code_challenge"] = ProofKey.challenge(of: flow.codeVerifier)
      parameters["code_challenge_method"] = ProofKey.method
    }
    return parameters
  }

  private func check(_ parameters: [String: String]) throws(ProviderRefusal) {
    let field = "custom_parameters"
    for (name, value) in parameters.sorted(by: { $0.key < $1.key }) {
      if let reserved = ReservedParameters.match(name) { throw .reservedParameter(name: reserved) }
      guard callerParameters.contains(name) else {
        let names = callerParameters.isEmpty ? "none" : callerParameters.sorted().joined(separator: ", ")
        throw .invalidParameter(name: field, hint: "Parameters that callers may set for \(providerID): \(names).")
      }
      guard AuthorizationRequest.isValue(value) else {
        throw .invalidParameter(name: field, hint: "\(name): \(AuthorizationRequest.valueHint)")
      }
    }
  }

  /// Returns the provider's basic scopes, then the caller's other scopes, each once (RFC 6749, 3.3).
  func scopes(adding extra: [String]) throws(ProviderRefusal) -> [String] {
    var scopes = basicScopes
    for scope in extra where !scopes.contains(scope) {
      guard isScope(scope) else {
        throw .invalidParameter(name: "scopes", hint: "A scope must have one or more visible ASCII characters.")
      }
      scopes.append(scope)
    }
    return scopes
  }

  /// Returns whether the text is one scope-token (RFC 6749, 3.3). The provider's separator in it would make two scopes.
  private func isScope(_ scope: String) -> Bool {
    let allowed = scope.utf8.allSatisfy { byte in
      (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
    return allowed && !scope.isEmpty && !scope.contains(scopeSeparator)
  }

  private static let valueHint = "It must not be empty or contain control characters."

  private static func isValue(_ value: String) -> Bool {
    !value.isEmpty && value.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
  }
}
