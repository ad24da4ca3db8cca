/// What no caller may put into an authorization request, whatever the provider (check 66): with one of these it could
/// send the code elsewhere, bind it to another session, or ask for more than the flow says.
enum ReservedParameters {
  static let names: Set<String> = [
    "client_id", "client_secret", "response_type", "response_mode", "redirect_uri", "scope", "state", "nonce", "code",
    "code_challenge", "code_challenge_method", "code_verifier", "grant_type", "request", "request_uri", "registration",
    "id_token_hint", "max_age", "appsecret_proof",
  ]
  /// What statements of ours begin with, and everything of OAuth 1.0a.
  static let prefixes = ["client_assertion", "oauth_"]

  /// What it is reserved as; nil where it is not. In whatever case: a provider may take `State` for `state`.
  static func match(_ name: String) -> String? {
    let name = name.lowercased()
    return names.contains(name) ? name : prefixes.first { name.hasPrefix($0) }.map { $0 + "*" }
  }
}

/// What a flow asks a provider's authorization endpoint (RFC 6749, 4.1.1), and what a caller may have in it. How many
/// and how long a caller's wishes may be is looked at where they arrive.
struct AuthorizationRequest: Sendable {
  let providerID: String
  var clientID: String
  /// In every request, in front of the caller's own.
  var basicScopes: [String]
  var scopeSeparator = " "
  /// What a caller may set, by exact name.
  var callerParameters: Set<String>
  var sendsProofKey: Bool
  /// OpenID Connect Core 3.1.2.1; plain OAuth has none.
  var sendsNonce = false
  var responseMode = StartedFlow.ResponseMode.query
  /// nil: the provider takes no hint, so a caller's is let go.
  var loginHintName: String? = "login_hint"
  /// What makes the provider ask the person again (check 88), whatever a caller sets; empty where it cannot.
  var freshLogin: [String: String] = [:]

  init(providerID: String, clientID: String, basicScopes: [String], callerParameters: Set<String>, sendsProofKey: Bool)
  {
    self.providerID = providerID
    self.clientID = clientID
    self.basicScopes = basicScopes
    self.callerParameters = callerParameters
    self.sendsProofKey = sendsProofKey
  }

  /// The same flow has the same URL: parameters stand in the order of their names.
  func url(_ endpoint: String, for flow: FlowRequest) throws(ProviderRefusal) -> String {
    URLEncoding.url(endpoint, adding: try completed(try ours(flow), for: flow))
  }

  /// The protocol's own parameters, with what the person and the caller add to them.
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
      throw .invalidParameter(name: "custom_parameters", hint: "prompt: none is no fresh login.")
    }
    for (name, value) in flow.parameters {
      // One set of parameters serves the sign-in and the reauthentication, where ours is the stronger wish.
      if flow.freshLogin, freshLogin[name] != nil { continue }
      guard parameters[name] == nil || parameters[name] == value else {
        throw .invalidParameter(name: "custom_parameters", hint: "This flow sets \(name) itself, to something else.")
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
      guard ProofKey.isVerifier(flow.codeVerifier) else { throw .invalid(why: "the code verifier is not RFC 7636's") }
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
        throw .invalidParameter(name: field, hint: "What a caller may set for \(providerID): \(names).")
      }
      guard AuthorizationRequest.isValue(value) else {
        throw .invalidParameter(name: field, hint: "\(name): \(AuthorizationRequest.valueHint)")
      }
    }
  }

  /// The provider's basic scopes, then the caller's that are not among them, each once (RFC 6749, 3.3).
  func scopes(adding extra: [String]) throws(ProviderRefusal) -> [String] {
    var scopes = basicScopes
    for scope in extra where !scopes.contains(scope) {
      guard isScope(scope) else {
        throw .invalidParameter(name: "scopes", hint: "A scope is of visible ASCII characters, at least one.")
      }
      scopes.append(scope)
    }
    return scopes
  }

  /// A scope-token (RFC 6749, 3.3), in which the provider's separator would be two scopes.
  private func isScope(_ scope: String) -> Bool {
    let allowed = scope.utf8.allSatisfy { byte in
      (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
    return allowed && !scope.isEmpty && !scope.contains(scopeSeparator)
  }

  private static let valueHint = "It must have a character, and no control character."

  private static func isValue(_ value: String) -> Bool {
    !value.isEmpty && value.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
  }
}
