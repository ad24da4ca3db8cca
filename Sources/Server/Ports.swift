// What the domain needs of the outside, answered by the modules below it.

internal import Crypto
internal import Identity
internal import Import
internal import Providers
internal import Reactor
internal import Store
internal import Synchronization
internal import Text
internal import Tokens

struct SystemClock: Clock {
  func now() -> Timestamp { Timestamp(millis: wallMillis()) }
}

struct SystemRandomness: Randomness {
  func bytes(_ count: Int) -> [UInt8] { Random.bytes(count) }
}

/// Secrets of the domain, all derived from the master key by purpose (a label under HMAC), so that one file is to be
/// kept and no key serves two ends.
struct Vault: Cryptography {
  private let sealing: SealingKeys
  private let refresh: HMACKey
  private let refreshTag: HMACKey
  private let throttle: HMACKey
  private let naming: HMACKey
  let idempotency: [UInt8]

  init(masterKey: Secret) throws(CryptoError) {
    func derived(_ purpose: String) -> [UInt8] { hmacSHA256(key: masterKey, Array("latchkey \(purpose) 1".utf8)) }
    sealing = try SealingKeys([Secret(copying: derived("sealing"))])
    refresh = HMACKey(Secret(copying: derived("refresh")))
    refreshTag = HMACKey(Secret(copying: derived("refresh tag")))
    throttle = HMACKey(Secret(copying: derived("throttle")))
    naming = HMACKey(Secret(copying: derived("naming")))
    idempotency = derived("idempotency")
  }

  func sha256(_ bytes: [UInt8]) -> Digest { Digest(Crypto.sha256(bytes)) }

  func successor(of token: [UInt8], family: String) -> [UInt8] {
    refresh.code(of: token + Array(family.utf8))
  }

  func refreshTag(of token: [UInt8], family: String) -> [UInt8] {
    refreshTag.code(of: token + Array(family.utf8))
  }

  func throttleKey(_ bytes: [UInt8]) -> Digest { Digest(throttle.code(of: bytes)) }
  func keyedDigest(_ bytes: [UInt8], purpose: String) -> Digest {
    // The purpose has no NUL, so that no two of them begin alike.
    Digest(naming.code(of: Array(purpose.utf8) + [0] + bytes))
  }

  func hmacSHA1(key: [UInt8], _ bytes: [UInt8]) -> [UInt8] { Crypto.hmacSHA1(key: Secret(copying: key), bytes) }

  func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool { constantTimeEquals(left, right) }

  func seal(_ plaintext: [UInt8], context: [UInt8]) -> [UInt8] { sealing.seal(plaintext, context: context) }

  func open(_ sealed: [UInt8], context: [UInt8]) -> [UInt8]? { try? sealing.open(sealed, context: context) }

  func seal(_ secret: Secret, context: [UInt8]) -> [UInt8] { sealing.seal(secret, context: context) }

  func openSecret(_ sealed: [UInt8], context: [UInt8]) throws -> Secret {
    try sealing.openSecret(sealed, context: context)
  }
}

/// Password hashing on bounded workers behind the reactors.
final class PasswordDesk: Passwords {
  private let hasher: PasswordHasher
  private let workers: Workers
  private let common: CommonPasswords
  private let importKeys: ImportKeys?
  private let refused: @Sendable () -> Void
  private let pace = Mutex(PasswordPace())

  /// - Parameter importKeys: nil: no hash was imported that takes a key.
  /// - Parameter refused: told of work that found the queue full.
  init(
    hasher: PasswordHasher, workers: Workers, importKeys: ImportKeys? = nil,
    refused: @escaping @Sendable () -> Void = {}
  ) {
    self.hasher = hasher
    self.importKeys = importKeys
    self.workers = workers
    self.refused = refused
    common = CommonPasswords()
    // The pace must be known before the first stranger asks.
    let begun = ContinuousClock.now
    _ = hasher.verify([], against: hasher.dummy)
    let took = begun.duration(to: .now)
    pace.withLock { _ = $0.note(took, .today) }
  }

  /// A refusal is held to the time of the slowest kind of hash that is in use: how long it takes must not tell that
  /// there is an account, nor that its hash is of older parameters than today's, or another service's.
  ///
  /// A password is compared in its normal form, which is what is hashed here. Other services hashed it as it was typed.
  func verify(_ password: String, hash: String?, fate: Fate) async throws -> PasswordCheck {
    let typed = Array(password.utf8)
    let bytes = Array(normalisePassword(password).utf8)
    let foreign = hash.flatMap { ForeignHash($0) }
    let key = if let id = foreign?.keyID { try await importKeys?.key(id) } else { nil as Secret? }
    // A call that was given up while it waited costs nothing.
    let outcome = try await work { [self] () -> (check: PasswordCheck, hold: Duration)? in
      guard !fate.isCancelled else { return nil }
      let begun = ContinuousClock.now
      let matches = foreign.map { $0.matches(typed, key: key) || (typed != bytes && $0.matches(bytes, key: key)) }
        ?? hasher.verify(bytes, against: hash ?? hasher.dummy)
      let took = begun.duration(to: .now)
      let isOlder = hash.map(hasher.needsUpgrade) ?? false
      let kind = foreign.map { PasswordPace.Kind.foreign($0.pace) } ?? (isOlder ? .older : .today)
      let hold = pace.withLock { $0.note(took, kind) }
      guard matches, hash != nil else { return (PasswordCheck(matches: false), hold) }
      return (PasswordCheck(matches: true, upgradedHash: isOlder ? try? hasher.hash(bytes) : nil), .zero)
    }
    guard let outcome else { throw Failure(.cancelled) }
    if outcome.hold > .zero { try? await Task.sleep(for: outcome.hold) }
    return outcome.check
  }

  func hash(_ password: String, fate: Fate) async throws -> String {
    let bytes = Array(password.utf8)
    let hash = try await work { [hasher] () -> String? in fate.isCancelled ? nil : try? hasher.hash(bytes) }
    guard let hash else {
      throw fate.isCancelled ? Failure(.cancelled) : Failure(.overloaded, retryAfterMillis: 1_000, debug: "no memory")
    }
    return hash
  }

  /// Hashes that wait for a worker.
  var queued: Int { workers.queued }

  func isCommon(_ password: String) -> Bool { common.contains(password) }

  private func work<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async throws -> Value {
    do {
      return try await workers.run(body)
    } catch is Workers.Full {
      refused()
      throw Failure(.overloaded, hint: "Too many password checks at once; try again.", retryAfterMillis: 1_000)
    }
  }
}

/// How long a check takes: under today's parameters, under older ones that stored hashes still have, and of each kind
/// that was imported.
struct PasswordPace {
  enum Kind: Hashable {
    case today
    case older
    case foreign(String)
  }

  /// Imports may bring any number of parameters; past so many they share one place.
  private static let kindsMax = 64
  private var means: [Kind: Duration] = [:]

  /// Takes one check into account; returns how much longer a check of the slowest other kind would have taken.
  mutating func note(_ took: Duration, _ kind: Kind) -> Duration {
    let kind = means[kind] == nil && means.count >= PasswordPace.kindsMax ? .older : kind
    // A running mean over some eight checks: one that was held up does not set the pace.
    means[kind] = means[kind].map { $0 + (took - $0) / 8 } ?? took
    let slowest = means.filter { $0.key != kind }.values.max() ?? .zero
    return max(.zero, slowest - took)
  }
}

/// Our own tokens, under the key ring of the moment.
final class TokenDesk: Identity.Tokens {
  let signer: TurnSigner
  private let ring: Mutex<KeyRing>
  private let issuer: String
  private let signers: [String: CustomTokenSigner]

  /// - Parameter signers: whose custom tokens count beside our own; each has an issuer of its own.
  init(ring: KeyRing, issuer: String, signers: [CustomTokenSigner] = []) throws(SystemError) {
    signer = try TurnSigner()
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

  func mintIDToken(_ token: IDToken) async throws -> String {
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
    claims.identities = TokenDesk.identities(token)
    claims.customClaims = try TokenDesk.claims(token.customClaimsJSON)
      .overridden(by: try TokenDesk.claims(token.sessionClaimsJSON))
    return try await signer.sign(try keys.unsigned(claims.encoded(), .idToken, at: token.issuedAt.seconds))
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
    return verified
  }

  func claimsJSON(_ token: String) throws -> String { String(decoding: try JWS(token).payload, as: UTF8.self) }

  func mintCustomToken(_ token: CustomToken) throws -> String {
    let custom = CustomTokenClaims(
      issuer: issuer, audience: issuer, accountID: token.accountID, issuedAt: token.issuedAt.seconds,
      expiresAt: token.expiresAt.seconds, claims: try TokenDesk.claims(token.claimsJSON))
    return try keys.unsigned(custom.encoded(), .customToken, at: token.issuedAt.seconds).signed()
  }

  func verifyCustomToken(_ token: String, at now: Timestamp) throws -> CustomToken {
    do {
      let claims = try customTokenClaims(token, now: now.seconds)
      return CustomToken(
        accountID: claims.accountID, issuedAt: Timestamp(millis: claims.issuedAt * 1_000),
        expiresAt: Timestamp(millis: claims.expiresAt * 1_000),
        claimsJSON: claims.claims.isEmpty ? "" : claims.claims.json)
    } catch {
      throw TokenDesk.failure(error, .invalidCustomToken, "Ask for a new custom token.")
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
      case .forbidden(let name): throw Failure(.forbiddenClaim, field: field, hint: "\(name) is reserved.")
      }
    }
  }

  private static func claims(_ json: String) throws -> CustomClaims {
    json.isEmpty ? .none : try CustomClaims(validating: json)
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

  private static func failure(_ error: TokenError, _ reason: Failure.Reason, _ hint: String) -> Failure {
    Failure(error == .expired ? .tokenExpired : reason, hint: hint, debug: "\(error)")
  }
}
