import Crypto
import Encodings

/// The values that make one OAuth 1.0a request unique (RFC 5849, 3.3).
struct RequestStamp: Hashable, Sendable {
  /// Random ASCII text.
  var nonce: String
  /// Seconds since 1970. The provider compares them with its own clock.
  var seconds: Int64
}

/// A signer of requests with HMAC-SHA1 (RFC 5849, 3.4.2) for the application and, if there is a token, for a user.
struct OAuth1Signer: Sendable {
  let consumerKey: String
  let consumerSecret: Secret
  /// Empty if there is none; so is its secret.
  var token = ""
  var tokenSecret = ""

  /// Returns the Authorization header of one request (3.5.1); nil if its URL cannot be signed.
  ///
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
