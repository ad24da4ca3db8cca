internal import Encodings
internal import Identity
internal import Reactor
internal import Store
internal import Synchronization
internal import Tokens

/// Our own tokens, under the key ring of the moment.
final class TokenDesk: Identity.Tokens {
  private let ring: Mutex<KeyRing>
  private let issuer: String
  private let signers: [String: CustomTokenSigner]

  /// - Parameter signers: whose custom tokens count beside our own; each has an issuer of its own.
  init(ring: KeyRing, issuer: String, signers: [CustomTokenSigner] = []) {
    self.ring = Mutex(ring)
    self.issuer = issuer
    self.signers = Dictionary(uniqueKeysWithValues: signers.map { ($0.issuer, $0) })
  }

  private var keys: KeyRing { ring.withLock { $0 } }

  /// Calls in flight keep the ring that they have.
  func use(_ ring: KeyRing) { self.ring.withLock { $0 = ring } }

  /// Of the keys that are published now, each once.
  func signingAlgorithms() -> [String] { keys.algorithms(at: wallMillis() / 1_000) }

  func signingKeys() -> String { keys.jwks(at: wallMillis() / 1_000) }

  func mintIDToken(_ token: IDToken) throws -> String { try unsigned(token).signed() }

  /// Out of line, so that its room is on the stack and not in the memory of the call's task.
  @inline(never) private func unsigned(_ token: IDToken) throws -> UnsignedToken {
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
    claims.identities = TokenDesk.identities(token)
    claims.customClaims = try TokenDesk.claims(token.customClaimsJSON)
      .overridden(by: try TokenDesk.claims(token.sessionClaimsJSON))
    do {
      return try keys.unsigned(claims.encoded(), .idToken, at: token.issuedAt.seconds)
    } catch TokenError.noActiveKey {
      throw TokenDesk.noActiveKey
    }
  }

  func requireSigningKey(at now: Timestamp) throws {
    guard keys.activeKey(at: now.seconds) != nil else { throw TokenDesk.noActiveKey }
  }

  func verifyIDToken(_ token: String, at now: Timestamp) throws -> IDToken {
    let claims: IDTokenClaims
    do {
      claims = try IDTokenClaims(try keys.verify(token, .idToken, at: now.seconds))
      // The audience is compared with the caller's own by the domain.
      try claims.check(issuer: issuer, audiences: [claims.audience], now: now.seconds)
    } catch {
      throw TokenDesk.failure(error, .invalidIDToken, "Sign in again.")
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
      expiresAt: token.expiresAt.seconds, claims: try TokenDesk.claims(token.claimsJSON),
      cutOffMillis: token.cutOff?.millis)
    do {
      return try keys.unsigned(custom.encoded(), .customToken, at: token.issuedAt.seconds).signed()
    } catch TokenError.noActiveKey {
      throw TokenDesk.noActiveKey
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
      throw TokenDesk.failure(
        error, .invalidCustomToken, "Ask for a new custom token.", field: CustomToken.field)
    }
  }

  /// The issuer that the token names chooses who may have signed it, and nothing else of it is believed before.
  private func customTokenClaims(_ token: String, now: Int64) throws(TokenError) -> CustomTokenClaims {
    let jws = try JWS(token)
    if let named = try jws.claims()["iss"]?.string, let signer = signers[named] {
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
      case .malformed: throw Failure(.invalidField, field: field, hint: "It must be a JSON object.")
      case .tooLarge:
        throw Failure(.claimsTooLarge, field: field, hint: "At most \(CustomClaims.byteCountMax) bytes.")
      case .forbidden(let name):
        throw Failure(.forbiddenClaim, field: field, hint: "\(name) is reserved, in upper and lower case.")
      case .sameName(let name):
        throw Failure(.forbiddenClaim, field: field, hint: "\(name) differs from another name only in case.")
      case .controlCharacter:
        throw Failure(.forbiddenClaim, field: field, hint: "A name must not hold control characters.")
      }
    }
  }

  private static func claims(_ json: String) throws -> CustomClaims {
    json.isEmpty ? .none : try CustomClaims.stored(json)
  }

  /// The shape that rules written for Firebase read: subjects by provider, and the address and number by their kind.
  /// By provider, in the order that each was named first.
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

  private static func failure(
    _ error: TokenError, _ reason: Failure.Reason, _ hint: String, field: String? = nil
  ) -> Failure {
    Failure(error == .expired ? .tokenExpired : reason, field: field, hint: hint, debug: "\(error)")
  }

  /// The watch of the signing keys makes a new key within `KeyPolicy.readMillis`.
  private static let noActiveKey = Failure(
    .signingKeyUnavailable, hint: "Try again.", retryAfterMillis: 5_000,
    debug: "no signing key is active yet: a clock is or was wrong")
}
