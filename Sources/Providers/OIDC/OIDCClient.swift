import Crypto
import Encodings
import HTTPClient
import Store
import Tokens

/// Our client of one OpenID Connect provider. It verifies ID tokens from any source. Adapters define what their
/// provider adds; the rules are the same for all. It is a class, because every call passes it on.
final class OIDCClient: Sendable {
  /// Returns the subject of claims that follow every rule of OpenID Connect. Throws if they violate a rule of the
  /// provider.
  typealias SubjectRule = @Sendable (ProviderClaims) throws(ProviderRefusal) -> String

  let settings: ProviderSettings
  /// nil if it is not configured for flows.
  let flow: CodeFlow?
  /// The issuer of the metadata; contains the placeholder if there are several tenants.
  let issuer: String
  let rules: ProviderTokenRules
  let keys: KeyCache
  let fetching: any HTTPSFetching
  private let subject: SubjectRule

  /// A token whose claims have all been checked.
  struct Verified: Sendable {
    let claims: ProviderClaims
    let subject: String
    let payload: [UInt8]
  }

  init(
    _ settings: ProviderSettings, flow: CodeFlow?, fetching: any HTTPSFetching, tenantClaim: String? = nil,
    metadataIssuer: String? = nil, subject: @escaping SubjectRule
  ) {
    self.settings = settings
    self.flow = flow
    rules = ProviderTokenRules(
      issuers: settings.issuers, clientIDs: settings.clientIDs, additionalAudiences: settings.additionalAudiences,
      algorithms: Array(settings.algorithms), requireAccessToken: settings.requireAccessToken, tenantClaim: tenantClaim)
    issuer = metadataIssuer ?? settings.issuers.first ?? ""
    keys = KeyCache(
      KeySource(
        providerID: settings.id, keys: settings.keys, issuer: issuer, fetching: fetching,
        onSkippedKeys: settings.onSkippedKeys))
    self.fetching = fetching
    self.subject = subject
  }

  /// Creates a client for a provider whose subject is the configured claim.
  convenience init(_ settings: ProviderSettings, flow: CodeFlow?, fetching: any HTTPSFetching) {
    let claim = settings.claims.subject
    self.init(settings, flow: flow, fetching: fetching) { claims throws(ProviderRefusal) in
      try ProfileClaims.subject(claims.all.member(at: claim))
    }
  }

  /// The proofs of a provider that accepts its ID tokens from any caller.
  var audienceProofs: [CredentialKind: AudienceProof] {
    flow == nil ? [.idToken: .audienceClaim] : [.idToken: .audienceClaim, .authorizationResponse: .redemption]
  }

  func refreshKeys(at now: Timestamp) async { await keys.refresh(at: now) }

  /// Verifies a token. Returns nil if the signing key is not cached and the provider may be asked for it.
  func verifyNow(_ presented: PresentedToken, at now: Timestamp) throws(ProviderRefusal) -> VerifiedToken? {
    let accessToken = presented.accessToken.isEmpty ? nil : presented.accessToken
    guard let verified = try claimsNow(presented.idToken, accessToken: accessToken, at: now) else { return nil }
    try checkNonce(verified.claims.nonce, raw: presented.rawNonce)
    return VerifiedToken(
      assertion: assertion(verified), toSpend: toSpend(verified.claims, of: presented.idToken),
      authenticatedAt: OIDCClient.authenticatedAt(verified.claims, at: now))
  }

  /// Verifies any token like `verifyNow`, without checking its nonce.
  func claimsNow(
    _ text: String, accessToken: String?, code: String? = nil, at now: Timestamp
  ) throws(ProviderRefusal) -> Verified? {
    let token: JWS
    do throws(TokenError) { token = try JWS(text) } catch { throw .invalid(why: "\(error)") }
    let claims = try withKeysNow(at: now) { keys throws(TokenRefusal) in
      try rules.verify(token, keys: keys, accessToken: accessToken, code: code, now: now.seconds)
    } issuedAt: {
      rules.claimedIssuance(token, accessToken: accessToken, now: now.seconds)
    }
    guard let claims else { return nil }
    return Verified(claims: claims, subject: try subject(claims), payload: token.payload)
  }

  /// Verifies with the cached keys. Returns nil if the needed key is not cached and the provider may be asked for it.
  ///
  /// - Parameter issuedAt: the token's claimed time of issue; nil if no key would make it valid.
  func withKeysNow<Value>(
    at now: Timestamp, _ verify: (JWKSet) throws(TokenRefusal) -> Value, issuedAt: () -> Int64?
  ) throws(ProviderRefusal) -> Value? {
    let view = keys.view(at: now)
    guard let keys = view.keys else { return try missing(view.ifMissing, .unknownKey) }
    do throws(TokenRefusal) { return try verify(keys) } catch {
      switch error {
      case .unknownKey, .badSignature:
        guard let issuedAt = issuedAt() else { throw .invalid(why: error.rawValue) }
        return try missing(view.ifMissing(issuedAt: issuedAt), error)
      case .expired: throw .expired
      case .nonce: throw .missingOrInvalidNonce
      default: throw .invalid(why: error.rawValue)
      }
    }
  }

  /// Verifies until there is a result, and fetches keys between attempts.
  func fetchingKeys<Value>(
    at now: Timestamp, _ verify: () throws(ProviderRefusal) -> Value?
  ) async throws -> Value {
    for _ in 0..<KeyCache.fetchesForOneToken {
      if let value = try verify() { return value }
      await keys.refresh(at: now)
    }
    guard let value = try verify() else {
      throw ProviderRefusal.unavailable(why: "the keys expired before they could be used")
    }
    return value
  }

  private func missing<Value>(
    _ key: KeyCache.IfMissing, _ refusal: TokenRefusal
  ) throws(ProviderRefusal) -> Value? {
    switch key {
    case .fetch: return nil
    case .failed(let failure): throw failure.refusal
    case .wait: throw .unavailable(why: "\(refusal.rawValue): the keys were read seconds ago")
    case .refuse: throw .invalid(why: refusal.rawValue)
    }
  }

  /// Checks the nonce. A nonce on one side only is rejected like a wrong one: it indicates a token from another user's
  /// sign-in.
  ///
  /// Native SDKs put the SHA-256 of the nonce into their request, so the claim is the hash in hex (check 46). Apple's
  /// SDKs always do: an Apple ID token with the raw nonce comes from a flow.
  private func checkNonce(_ claim: String?, raw: String) throws(ProviderRefusal) {
    guard let claim else {
      guard raw.isEmpty, settings.nonce == .optional else { throw .missingOrInvalidNonce }
      return
    }
    let claimed = Array(claim.utf8)
    let rawBytes = Array(raw.utf8)
    let isPlain = !settings.kitsHashNonces && constantTimeEquals(claimed, rawBytes)
    guard !rawBytes.isEmpty, isPlain || constantTimeEquals(claimed, Hexadecimal.encode(sha256(rawBytes))) else {
      throw .missingOrInvalidNonce
    }
  }

  /// Returns the record that makes a token single-use. It covers the signed part only: an ECDSA signature has a second
  /// valid form, which would make one token two. It lasts as long as the rules accept the token, which is past its
  /// expiry.
  func toSpend(_ claims: ProviderClaims, of token: String) -> VerifiedToken.ToSpend? {
    guard settings.nonce == .required, let end = token.utf8.lastIndex(of: UInt8(ascii: ".")) else { return nil }
    let signed = Array(settings.id.utf8) + [0] + Array(token.utf8[..<end])
    let endSeconds = min(claims.expiresAt, 1 << 40) + rules.leewaySeconds
    return VerifiedToken.ToSpend(
      digest: Digest(sha256(signed)), expiresAt: Timestamp(millis: endSeconds * 1000))
  }

  /// - Parameter profile: document of the provider, in addition to the token.
  func assertion(_ verified: Verified, profile: Document? = nil) -> Assertion {
    let (claims, said) = ([verified.claims.all], profile.map { [$0.value] } ?? [])
    var assertion = ProfileClaims.assertion(
      verified.subject, of: settings, documents: settings.profileGoesFirst ? said + claims : claims + said,
      profile: profile?.bytes ?? verified.payload)
    if settings.hasTransferSubjects, let text = verified.claims.all["transfer_sub"]?.string,
      let subject = try? ProfileClaims.subject(.string(text))
    {
      assertion.transferSubject = subject
    }
    return assertion
  }

  /// Returns when the user last authenticated (OpenID Connect Core 2, `auth_time`). A future time counts as absent.
  static func authenticatedAt(_ claims: ProviderClaims, at now: Timestamp) -> Timestamp? {
    guard let seconds = claims.all["auth_time"]?.numericDate, (0...now.seconds + 60).contains(seconds) else {
      return nil
    }
    return min(Timestamp(millis: seconds * 1000), now)
  }
}
