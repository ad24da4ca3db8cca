import Crypto
import Encodings

/// What makes one request of OAuth 1.0a different from every other (RFC 5849, 3.3).
struct RequestStamp: Hashable, Sendable {
  /// Random, and of ASCII.
  var nonce: String
  /// Since 1970; the provider compares it with its own clock.
  var seconds: Int64
}

/// Signs requests with HMAC-SHA1 (RFC 5849, 3.4.2) in the name of the application and, where there is a token already,
/// of a person.
struct OAuth1Signer: Sendable {
  let consumerKey: String
  let consumerSecret: Secret
  /// Empty while there is none; so is its secret.
  var token = ""
  var tokenSecret = ""

  /// The Authorization header of one request (3.5.1); nil where its URL cannot be signed.
  /// - Parameter extra: further parameters of the protocol, such as a callback or a verifier.
  func authorization(_ request: SignedRequest, _ stamp: RequestStamp, adding extra: [Parameter] = []) -> String? {
    var oauth = Form([
      Parameter("oauth_consumer_key", consumerKey), Parameter("oauth_nonce", stamp.nonce),
      Parameter("oauth_signature_method", "HMAC-SHA1"), Parameter("oauth_timestamp", String(stamp.seconds)),
      Parameter("oauth_version", "1.0"),
    ])
    if !token.isEmpty { oauth.parameters.append(Parameter("oauth_token", token)) }
    oauth.parameters += extra
    guard let base = SignatureBase.text(request, oauth: oauth) else { return nil }
    oauth.parameters.append(Parameter("oauth_signature", signature(of: base)))
    let pairs = oauth.parameters.map { parameter in
      "\(URLEncoding.percentEncoded(parameter.name))=\"\(URLEncoding.percentEncoded(parameter.value))\""
    }
    return "OAuth " + pairs.joined(separator: ", ")
  }

  func signature(of base: String) -> String {
    let parts = [consumerSecret.revealed, tokenSecret].map(URLEncoding.percentEncoded)
    let key = Secret(copying: Array(parts.joined(separator: "&").utf8))
    return Base64.padded(hmacSHA1(key: key, Array(base.utf8)))
  }
}
