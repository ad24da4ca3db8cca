internal import Encodings
internal import HTTP1
internal import Identity
internal import Reactor
internal import Store
internal import Synchronization
internal import Tokens

/// Issuer and verifier of this service's tokens, with the current key ring.
final class TokenIssuer: Identity.Tokens, PublicKeys {
  private let ring: Mutex<KeyRing>
  private let issuer: String
  /// Session cookies have an issuer of their own, so that a verifier that ignores `typ` rejects them as ID tokens.
  private let sessionIssuer: String
  private let signers: Mutex<[String: CustomTokenSigner]>
  private let hasMetUnknownKey = Atomic<Bool>(false)

  /// - Parameter signers: further accepted signers of custom tokens; each has its own issuer.
  init(ring: KeyRing, issuer: String, signers: [CustomTokenSigner] = []) {
    self.ring = Mutex(ring)
    self.issuer = issuer
    sessionIssuer = issuer + "/session"
    self.signers = Mutex(TokenIssuer.byIssuer(signers))
  }

  private var keys: KeyRing { ring.withLock { $0 } }

  /// Replaces the key ring. Calls in flight keep the previous one.
  func use(_ ring: KeyRing) { self.ring.withLock { $0 = ring } }

  /// Replaces the accepted signers of custom tokens.
  func use(_ signers: [CustomTokenSigner]) { self.signers.withLock { $0 = TokenIssuer.byIssuer(signers) } }

  private static func byIssuer(_ signers: [CustomTokenSigner]) -> [String: CustomTokenSigner] {
    Dictionary(uniqueKeysWithValues: signers.map { ($0.issuer, $0) })
  }

  /// Returns whether a token named an unknown key since the last call.
  func takeUnknownKey() -> Bool { hasMetUnknownKey.exchange(false, ordering: .relaxed) }

  /// Algorithms of the published keys, without duplicates.
  func signingAlgorithms() -> [String] { keys.algorithms(at: wallMillis() / 1_000) }

  func signingKeys() -> String { keys.jwks(at: wallMillis() / 1_000) }

  func mintIDToken(_ token: IDToken) throws -> String { try unsigned(token, .idToken, issuer).signed() }

  func mintSessionCookie(_ token: IDToken) throws -> String {
    try unsigned(token, .sessionCookie, sessionIssuer).signed()
  }

  /// Not inlined, so that its memory is on the stack and not in the call's task.
  @inline(never) private func unsigned(
    _ token: IDToken, _ type: TokenType, _ issuer: String
  ) throws -> UnsignedToken {
    var claims = IDTokenClaims(
      issuer: issuer, audience: token.audience, accountID: token.accountID, issuedAt: token.issuedAt.seconds,
      expiresAt: token.expiresAt.seconds, authenticatedAt: token.authTime.seconds, sessionID: token.sessionID,
      methods: token.methods, signInProvider: token.signInProviderID)
    claims.email = token.email
    claims.emailVerified = token.emailVerified
    claims.phoneNumber = token.phoneNumber
    claims.name = token.name
    claims.picture = token.picture
    claims.secondFactor = token.signInSecondFactor
    claims.secondFactorID = token.signInSecondFactorID
    claims.identities = TokenIssuer.identities(token)
    claims.customClaims = try TokenIssuer.claims(token.customClaimsJSON)
      .overridden(by: try TokenIssuer.claims(token.sessionClaimsJSON))
    do {
      return try keys.unsigned(claims.encoded(), type, at: token.issuedAt.seconds)
    } catch TokenError.noActiveKey {
      throw TokenIssuer.noActiveKey
    }
  }

  func requireSigningKey(at now: Timestamp) throws {
    guard keys.activeKey(at: now.seconds) != nil else { throw TokenIssuer.noActiveKey }
  }

  func verifyIDToken(_ token: String, at now: Timestamp) throws -> IDToken {
    try verify(token, .idToken, issuer, at: now)
  }

  func verifySessionCookie(_ cookie: String, at now: Timestamp) throws -> IDToken {
    try verify(cookie, .sessionCookie, sessionIssuer, at: now)
  }

  private func verify(_ token: String, _ type: TokenType, _ issuer: String, at now: Timestamp) throws -> IDToken {
    let claims: IDTokenClaims
    do {
      claims = try IDTokenClaims(try keys.verify(token, type, at: now.seconds))
      // The domain compares the audience with the caller's audiences.
      try claims.check(issuer: issuer, audiences: [claims.audience], now: now.seconds)
    } catch {
      note(error)
      throw TokenIssuer.failure(error, .invalidIDToken, "Sign in again.")
    }
    var verified = IDToken(
      accountID: claims.accountID, audience: claims.audience, sessionID: claims.sessionID,
      issuedAt: Timestamp(millis: claims.issuedAt * 1_000), expiresAt: Timestamp(millis: claims.expiresAt * 1_000),
      authTime: Timestamp(millis: claims.authenticatedAt * 1_000), methods: claims.methods,
      signInProviderID: claims.signInProvider)
    verified.email = claims.email
    verified.emailVerified = claims.emailVerified
    verified.signInSecondFactor = claims.secondFactor
    verified.signInSecondFactorID = claims.secondFactorID
    return verified
  }

  func claimsJSON(_ token: String) throws -> String { String(decoding: try JWS(token).payload, as: UTF8.self) }

  func mintCustomToken(_ token: CustomToken) throws -> String {
    let custom = CustomTokenClaims(
      issuer: issuer, audience: issuer, accountID: token.accountID, issuedAt: token.issuedAt.seconds,
      expiresAt: token.expiresAt.seconds, claims: try TokenIssuer.claims(token.claimsJSON),
      cutOffMillis: token.cutOff?.millis)
    do {
      return try keys.unsigned(custom.encoded(), .customToken, at: token.issuedAt.seconds).signed()
    } catch TokenError.noActiveKey {
      throw TokenIssuer.noActiveKey
    }
  }

  func verifyCustomToken(_ token: String, at now: Timestamp) throws -> CustomToken {
    do {
      let claims = try customTokenClaims(token, now: now.seconds)
      return CustomToken(
        accountID: claims.accountID, issuedAt: Timestamp(millis: claims.issuedAt * 1_000),
        expiresAt: Timestamp(millis: claims.expiresAt * 1_000),
        claimsJSON: claims.claims.isEmpty ? "" : claims.claims.json,
        cutOff: claims.cutOffMillis.map(Timestamp.init(millis:)))
    } catch {
      note(error)
      throw TokenIssuer.failure(
        error, .invalidCustomToken, "Mint a new custom token.", field: CustomToken.field)
    }
  }

  /// Verifies a custom token. Only `iss` is read before verification, to select the signer.
  private func customTokenClaims(_ token: String, now: Int64) throws(TokenError) -> CustomTokenClaims {
    let jws = try JWS(token)
    if let named = try jws.claims()["iss"]?.string, let signer = signers.withLock({ $0[named] }) {
      return try signer.verify(jws, audience: issuer, now: now)
    }
    _ = try keys.verify(token, .customToken, at: now)
    let claims = try CustomTokenClaims(payload: jws.payload)
    try claims.check(issuer: issuer, audience: issuer, now: now)
    return claims
  }

  func validateCustomClaims(_ json: String, field: String) throws {
    do {
      _ = try CustomClaims(validating: json)
    } catch {
      switch error {
      case .malformed: throw Failure(.invalidField, field: field, hint: "Send a JSON object.")
      case .tooLarge:
        throw Failure(.claimsTooLarge, field: field, hint: "Use at most \(CustomClaims.byteCountMax) bytes.")
      case .forbidden(let name):
        throw Failure(.forbiddenClaim, field: field, hint: "Rename \(name), which is reserved in upper and lower case.")
      case .sameName(let name):
        throw Failure(
          .forbiddenClaim, field: field, hint: "Rename \(name), which differs from another name only in case.")
      case .controlCharacter:
        throw Failure(.forbiddenClaim, field: field, hint: "Remove control characters from names.")
      }
    }
  }

  func claims(_ json: String, overriddenBy other: String) throws -> String {
    guard !json.isEmpty, !other.isEmpty else { return json + other }
    return try TokenIssuer.claims(json).overridden(by: try TokenIssuer.claims(other)).json
  }

  private static func claims(_ json: String) throws -> CustomClaims {
    json.isEmpty ? .none : try CustomClaims.stored(json)
  }

  /// Returns the identities in the form that Firebase rules read: subjects by provider, with the email and phone number
  /// by type. Providers have the order of their first subject.
  private static func identities(_ token: IDToken) -> [IDTokenClaims.Identity] {
    var identities: [IDTokenClaims.Identity] = []
    func add(_ providerID: String, _ subject: String) {
      if let index = identities.firstIndex(where: { $0.providerID == providerID }) {
        identities[index].subjects.append(subject)
      } else {
        identities.append(IDTokenClaims.Identity(providerID: providerID, subjects: [subject]))
      }
    }
    for key in token.identities { add(key.providerID, key.subject) }
    if let email = token.email { add("email", email) }
    if let phoneNumber = token.phoneNumber { add("phone", phoneNumber) }
    return identities
  }

  private func note(_ error: TokenError) {
    if error == .unknownKey { hasMetUnknownKey.store(true, ordering: .relaxed) }
  }

  private static func failure(
    _ error: TokenError, _ reason: Failure.Reason, _ hint: String, field: String? = nil
  ) -> Failure {
    Failure(error == .expired ? .tokenExpired : reason, field: field, hint: hint, debug: "\(error)")
  }

  /// `SigningKeyWatch` creates a new key within `KeyPolicy.readMillis`.
  private static let noActiveKey = Failure(
    .signingKeyUnavailable, hint: "Retry later.", retryAfterMillis: 5_000,
    debug: "no signing key is active: a clock is or was wrong")
}
