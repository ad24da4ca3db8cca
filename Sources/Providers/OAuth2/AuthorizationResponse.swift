import Crypto

/// The response of the authorization endpoint (RFC 6749, 4.1.2): a code or an error.
package enum AuthorizationResponse {
  package static let codeBytesMax = 4096

  /// What the response must state about its sender (RFC 9207).
  package struct Sender: Hashable, Sendable {
    /// nil if the provider has none, or if only the ID token names it. An `iss` is then not compared here.
    package var issuer: String?
    /// Whether `iss` is required: the provider announces it, or the configuration requires it.
    package var mustSay: Bool

    package init(issuer: String?, mustSay: Bool = false) {
      self.issuer = issuer
      self.mustSay = mustSay
    }

    /// The sender for a provider without metadata.
    init(_ settings: ProviderSettings) {
      self.init(issuer: settings.issuers.first, mustSay: settings.requireResponseIssuer)
    }
  }

  /// Returns the code. The sender is checked first, because another provider's error is not this flow's either.
  package static func code(
    in callback: Callback, of flow: FlowState, from sender: Sender
  ) throws(ProviderRefusal) -> String {
    guard let state = callback["state"], constantTimeEquals(Array(state.utf8), Array(flow.state.utf8)) else {
      throw .flowMismatch(why: "the response has another state")
    }
    try check(callback["iss"], sender)
    if let error = callback["error"] {
      throw refusal(error, description: callback["error_description"])
    }
    // Facebook's dialog reports a rejected request with its own parameters.
    if callback["code"] == nil, let number = callback["error_code"] {
      throw .refused(why: LoggedText.of(number, callback["error_message"]))
    }
    guard let code = callback["code"], (1...codeBytesMax).contains(code.utf8.count),
      code.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
    else { throw .invalid(why: "the code is missing or violates RFC 6749") }
    return code
  }

  /// Compares `iss` character by character, without normalisation (RFC 9207, 2.4).
  private static func check(_ issuer: String?, _ sender: Sender) throws(ProviderRefusal) {
    guard issuer != nil || !sender.mustSay else { throw .flowMismatch(why: "the response has no iss") }
    guard let issuer, let expected = sender.issuer else { return }
    guard issuer.utf8.elementsEqual(expected.utf8) else { throw .flowMismatch(why: "the response has another issuer") }
  }

  /// Converts an error (RFC 6749, 4.1.2.1 and OpenID Connect Core 3.1.2.6). LinkedIn and Apple each have their own name
  /// for a denial by the user.
  static func refusal(_ error: String, description: String?) -> ProviderRefusal {
    let why = LoggedText.of(error, description)
    switch error {
    case "access_denied", "user_cancelled_login", "user_cancelled_authorize", "login_required", "consent_required",
      "interaction_required", "account_selection_required":
      return .denied(why: why)
    case "server_error", "temporarily_unavailable": return .unavailable(why: why)
    default: return .refused(why: why)
    }
  }
}

/// Error text of another service, cut to the length of a log entry.
package enum LoggedText {
  static let bytesMax = 200

  package static func short(_ text: String) -> String { of(text, nil) }

  static func of(_ error: String, _ description: String?) -> String {
    let text = description.map { "\(error): \($0)" } ?? error
    return String(decoding: text.utf8.prefix(bytesMax).filter { (0x20...0x7E).contains($0) }, as: UTF8.self)
  }
}
