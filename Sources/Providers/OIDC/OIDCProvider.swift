import Crypto
import Fetch
import Store
import Text
import Tokens

/// One OpenID Connect provider: what its ID tokens must say, and what is believed of them.
///
/// Everything is proved by the ID token itself. The userinfo endpoint is never asked, so its subject cannot differ from
/// the token's (check 51 has no case here).
struct OIDCProvider: Sendable {
  private let settings: ProviderSettings
  private let rules: ProviderTokenRules
  private let keys: KeyCache

  init(_ settings: ProviderSettings, fetching: any HTTPSFetching) {
    self.settings = settings
    rules = ProviderTokenRules(
      issuers: settings.issuers, clientIDs: settings.clientIDs, algorithms: Array(settings.algorithms),
      requireAccessToken: settings.requireAccessToken)
    keys = KeyCache(KeySource(settings: settings, fetching: fetching))
  }

  func refreshKeys(at now: Timestamp) async { await keys.refresh(at: now) }

  /// nil: the key that signed it is not here, and the provider may be asked for it.
  func verifyNow(_ presented: PresentedToken, at now: Timestamp) throws(ProviderRefusal) -> VerifiedToken? {
    let token: JWS
    do throws(TokenError) { token = try JWS(presented.idToken) } catch { throw .invalid(why: "\(error)") }
    let view = keys.view(at: now)
    guard let keys = view.keys else { return try missing(view.ifMissing) }
    let accessToken = presented.accessToken.isEmpty ? nil : presented.accessToken
    let claims: ProviderClaims
    do throws(TokenRefusal) {
      claims = try rules.verify(token, keys: keys, accessToken: accessToken, now: now.seconds)
    } catch {
      switch error {
      case .unknownKey: return try missing(view.ifMissing)
      case .expired: throw .expired
      case .nonce: throw .missingOrInvalidNonce
      default: throw .invalid(why: error.rawValue)
      }
    }
    try checkNonce(claims.nonce, raw: presented.rawNonce)
    return VerifiedToken(
      assertion: try assertion(claims, payload: token.payload), toSpend: toSpend(claims, of: presented.idToken))
  }

  private func missing(_ key: KeyCache.IfMissing) throws(ProviderRefusal) -> VerifiedToken? {
    switch key {
    case .fetch: return nil
    case .unavailable(let why): throw .unavailable(why: why)
    case .refuse: throw .invalid(why: TokenRefusal.unknownKey.rawValue)
    }
  }

  /// A nonce on one side only is refused as a wrong one is: it is the mark of a token from somebody else's sign-in.
  /// Native kits put the SHA-256 of the nonce into their request, so that the claim is the hash in hex (check 46).
  private func checkNonce(_ claim: String?, raw: String) throws(ProviderRefusal) {
    guard let claim else {
      guard raw.isEmpty, settings.nonce == .optional else { throw .missingOrInvalidNonce }
      return
    }
    let claimed = Array(claim.utf8)
    let rawBytes = Array(raw.utf8)
    guard !rawBytes.isEmpty,
      constantTimeEquals(claimed, rawBytes) || constantTimeEquals(claimed, hexadecimal(sha256(rawBytes)))
    else { throw .missingOrInvalidNonce }
  }

  /// What is signed is remembered, not the token: an ECDSA signature has a second valid form, which would make one
  /// token two. It is kept for as long as the rules accept it, which is past its expiry.
  private func toSpend(_ claims: ProviderClaims, of token: String) -> VerifiedToken.ToSpend? {
    guard settings.nonce == .required, let end = token.utf8.lastIndex(of: UInt8(ascii: ".")) else { return nil }
    let signed = Array(settings.id.utf8) + [0] + Array(token.utf8[..<end])
    let endSeconds = min(claims.expiresAt, 1 << 40) + rules.leewaySeconds
    return VerifiedToken.ToSpend(
      digest: Digest(sha256(signed)), expiresAt: Timestamp(millis: endSeconds * 1000))
  }

  private func assertion(_ claims: ProviderClaims, payload: [UInt8]) throws(ProviderRefusal) -> Assertion {
    // OpenID Connect Core 2: ASCII. Subjects that Unicode calls equivalent would be one text and two rows.
    guard claims.subject.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
      throw .invalid(why: TokenRefusal.subject.rawValue)
    }
    var assertion = Assertion(identity: IdentityKey(providerID: settings.id, subject: claims.subject))
    let all = claims.all
    if let email = all["email"]?.string.flatMap({ try? normaliseEmail($0) }) {
      assertion.email = email
      // Only the boolean counts: the text "false" is not false in every language (check 55).
      assertion.tier = settings.emailTrust.tier(
        of: email, emailVerified: all["email_verified"]?.bool == true, hostedDomain: all["hd"]?.string)
    }
    assertion.displayName = Profile.text(all["name"])
    assertion.photoURL = Profile.url(all["picture"])
    assertion.username = Profile.text(all["preferred_username"])
    // JWS.byteCountMax keeps the document below the 16 KiB that a profile may have.
    assertion.profileJSON = String(decoding: payload, as: UTF8.self)
    return assertion
  }

  private func hexadecimal(_ bytes: [UInt8]) -> [UInt8] {
    let digits = Array("0123456789abcdef".utf8)
    return bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
  }
}

/// What a provider says about the person, as far as it is fit to be stored and shown; else empty.
private enum Profile {
  private static let byteCountMax = 1024

  static func text(_ claim: JSONValue?) -> String {
    guard let text = claim?.string, text.utf8.count <= byteCountMax else { return "" }
    // Most texts are ASCII, where controls are told without the tables of Unicode.
    if text.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) { return text }
    return text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control } ? text : ""
  }

  /// Web addresses only: a page that shows the photo must not be made to run it.
  static func url(_ claim: JSONValue?) -> String {
    let url = text(claim)
    return url.hasPrefix("https://") || url.hasPrefix("http://") ? url : ""
  }
}
