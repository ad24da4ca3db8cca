import Crypto

/// The temporary credentials of one flow (RFC 5849, 2.1). The secret leaves this process only sealed (check 74).
struct RequestToken: Hashable, Sendable {
  let token: String
  let secret: String

  /// The verifier that the redirect contains for a request token.
  struct Verifier: Hashable, Sendable {
    let token: RequestToken
    let text: String
  }

  init(_ form: Form) throws(ProviderRefusal) {
    guard let token = form["oauth_token"], let secret = form["oauth_token_secret"], TokenAnswer.isToken(token),
      TokenAnswer.isToken(secret)
    else { throw .unavailable(why: "request_token: no token") }
    self.token = token
    self.secret = secret
  }

  /// The parameters as X sent them, so that both ends of the flow read them alike.
  var kept: String {
    let parameters = [Parameter("oauth_token", token), Parameter("oauth_token_secret", secret)]
    return String(decoding: URLEncoding.form(parameters), as: UTF8.self)
  }

  /// Returns the verifier for the request token that this flow began with. The token is compared even if the user
  /// denied access: the verifier of another attempt would sign in another user (check 73).
  static func verifier(_ callback: Callback, keptAs kept: String) throws(ProviderRefusal) -> Verifier {
    guard let form = Form(parsing: Array(kept.utf8)), let token = try? RequestToken(form) else {
      throw .flowMismatch(why: "no request token was kept")
    }
    guard let returned = callback["denied"] ?? callback["oauth_token"],
      constantTimeEquals(Array(returned.utf8), Array(token.token.utf8))
    else { throw .flowMismatch(why: "the redirect has another request token") }
    guard callback["denied"] == nil else { throw .denied(why: "the user denied access at X") }
    guard let text = callback["oauth_verifier"], TokenAnswer.isToken(text) else {
      throw .invalid(why: "no oauth_verifier")
    }
    return Verifier(token: token, text: text)
  }
}
