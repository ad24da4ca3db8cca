import Crypto

/// What comes back from the authorization endpoint (RFC 6749, 4.1.2): a code, or why there is none.
package enum AuthorizationResponse {
  package static let codeBytesMax = 4096

  /// What the response must say about who sent it (RFC 9207).
  package struct Sender: Hashable, Sendable {
    /// nil: the provider has none, or it is known by the ID token only; an `iss` is not compared here.
    package var issuer: String?
    /// The provider announces `iss`, or is configured to send it.
    package var mustSay: Bool

    package init(issuer: String?, mustSay: Bool = false) {
      self.issuer = issuer
      self.mustSay = mustSay
    }

    /// Of a provider without metadata.
    init(_ settings: ProviderSettings) {
      self.init(issuer: settings.issuers.first, mustSay: settings.requireResponseIssuer)
    }
  }

  /// The code. Who answers is looked at first, because an error of somebody else's is not this flow's either.
  package static func code(
    in callback: Callback, of flow: FlowState, from sender: Sender
  ) throws(ProviderRefusal) -> String {
    guard let state = callback["state"], constantTimeEquals(Array(state.utf8), Array(flow.state.utf8)) else {
      throw .flowMismatch(why: "another state")
    }
    try check(callback["iss"], sender)
    if let error = callback["error"] {
      throw refusal(error, description: callback["error_description"])
    }
    // Facebook's dialog, which says so in words of its own where it does not accept the request.
    if callback["code"] == nil, let number = callback["error_code"] {
      throw .refused(why: LoggedText.of(number, callback["error_message"]))
    }
    guard let code = callback["code"], (1...codeBytesMax).contains(code.utf8.count),
      code.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
    else { throw .invalid(why: "no code, or none of RFC 6749") }
    return code
  }

  /// RFC 9207, 2.4: compared as it is, character by character.
  private static func check(_ issuer: String?, _ sender: Sender) throws(ProviderRefusal) {
    guard issuer != nil || !sender.mustSay else { throw .flowMismatch(why: "no iss in the response") }
    guard let issuer, let expected = sender.issuer else { return }
    guard issuer.utf8.elementsEqual(expected.utf8) else { throw .flowMismatch(why: "the response of another issuer") }
  }

  /// RFC 6749, 4.1.2.1 and OpenID Connect Core 3.1.2.6; two more spellings of the person's refusal are LinkedIn's and
  /// Apple's.
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

/// A stranger's error, cut down to what a log line can take.
package enum LoggedText {
  static let bytesMax = 200

  package static func short(_ text: String) -> String { of(text, nil) }

  static func of(_ error: String, _ description: String?) -> String {
    let text = description.map { "\(error): \($0)" } ?? error
    return String(decoding: text.utf8.prefix(bytesMax).filter { (0x20...0x7E).contains($0) }, as: UTF8.self)
  }
}
