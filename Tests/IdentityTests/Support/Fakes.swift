import Identity
import Store
import Synchronization

final class FakeClock: Identity.Clock {
  private let millis = Atomic<Int64>(1_800_000_000_000)

  func now() -> Timestamp { Timestamp(millis: millis.load(ordering: .relaxed)) }
  func advance(millis delta: Int64) { millis.add(delta, ordering: .relaxed) }
}

/// SplitMix64: the same bytes in every run of a test, and no repetition within a run.
final class SeededRandomness: Randomness {
  private let state: Mutex<UInt64>

  init(seed: UInt64 = 1) { state = Mutex(seed) }

  func bytes(_ count: Int) -> [UInt8] {
    state.withLock { state in
      (0..<count).map { _ in
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return UInt8(truncatingIfNeeded: mixed ^ (mixed >> 31))
      }
    }
  }
}

/// Not cryptographic: a mixing function wide enough that tests see different values for different inputs.
struct FakeCryptography: Cryptography {
  /// The master keys, the one that seals first.
  var masterKeys = ["old"]

  var masterKeyCount: Int { masterKeys.count }

  /// A sealed value begins with the id of its key.
  var masterKeyIDs: [MasterKeyID] { masterKeys.map { MasterKeyID(bytes: mixed($0, [])) } }

  func sha256(_ bytes: [UInt8]) -> Digest { Digest(mixed("sha256", bytes)) }

  func successor(of token: [UInt8], family: String, masterKey: Int) -> [UInt8] {
    mixed(masterKeys[masterKey] + " successor" + family, token)
  }

  func refreshTag(of token: [UInt8], family: String, masterKey: Int) -> [UInt8] {
    mixed(masterKeys[masterKey] + " tag" + family, token)
  }

  func throttleKey(_ bytes: [UInt8], masterKey: Int) -> Digest {
    Digest(mixed(masterKeys[masterKey] + " throttle", bytes))
  }

  func keyedDigest(_ bytes: [UInt8], purpose: String) -> Digest { Digest(mixed(purpose, bytes)) }

  func hmacSHA1(key: [UInt8], _ bytes: [UInt8]) -> [UInt8] { Array(mixed("sha1", key + bytes).prefix(20)) }

  func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool { left == right }

  func seal(_ plaintext: [UInt8], context: [UInt8]) -> [UInt8] {
    seal(plaintext, context, under: masterKeys[0])
  }

  private func seal(_ plaintext: [UInt8], _ context: [UInt8], under masterKey: String) -> [UInt8] {
    mixed(masterKey, []).prefix(4) + mixed(masterKey + " seal", plaintext + context).dropFirst(4)
      + plaintext.map { $0 ^ 0x5A }
  }

  func open(_ sealed: [UInt8], context: [UInt8]) -> [UInt8]? {
    let plaintext = sealed.dropFirst(32).map { $0 ^ 0x5A }
    return masterKeys.contains { sealed == seal(plaintext, context, under: $0) } ? plaintext : nil
  }

  private func mixed(_ label: String, _ bytes: [UInt8]) -> [UInt8] {
    var lanes: [UInt64] = [1, 2, 3, 4].map { 0xCBF2_9CE4_8422_2325 &+ $0 }
    for (index, byte) in (Array(label.utf8) + [0] + bytes).enumerated() {
      for lane in lanes.indices {
        lanes[lane] = (lanes[lane] ^ UInt64(byte) ^ UInt64(index << 8)) &* (0x100_0000_01B3 &+ UInt64(lane * 2))
        lanes[lane] ^= lanes[lane] >> 29
      }
    }
    return lanes.flatMap { lane in (0..<8).map { UInt8(truncatingIfNeeded: lane >> UInt64($0 * 8)) } }
  }
}

/// Passwords with readable hashes: "hash:…", or "old:…" if the next sign-in must upgrade the hash.
final class FakePasswords: Passwords {
  /// The checked hashes, in order: every password answer must cost the same work.
  private let asked = Mutex<[String?]>([])
  private let failing = Mutex<Failure?>(nil)
  private let isGivenUpAfterwards = Mutex(false)
  private let interruption = Mutex<(@Sendable () async -> Void)?>(nil)

  var verifications: [String?] { asked.withLock { $0 } }

  func fail(with failure: Failure?) { failing.withLock { $0 = failure } }
  /// From here on, each call is cancelled after its password was checked, before its failure is returned.
  func giveUpAfterwards() { isGivenUpAfterwards.withLock { $0 = true } }
  /// Runs once, while the next password is checked.
  func meet(_ event: @escaping @Sendable () async -> Void) { interruption.withLock { $0 = event } }

  func requireRoom() throws(Failure) {}
  /// Hashes with this prefix need a key that is missing.
  func canVerify(hash: String) async throws -> Bool { !hash.hasPrefix("foreign:") }

  func verify(_ password: String, hash: String?, commitDecision: CommitDecision) async throws -> PasswordCheck {
    if let failure = failing.withLock({ $0 }) { throw failure }
    guard !commitDecision.isCancelled else { throw Failure(.cancelled) }
    asked.withLock { $0.append(hash) }
    let event = interruption.withLock { event in
      defer { event = nil }
      return event
    }
    await event?()
    if isGivenUpAfterwards.withLock({ $0 }) { _ = commitDecision.cancel() }
    if hash == "old:" + password { return PasswordCheck(matches: true, upgradedHash: "hash:" + password) }
    return PasswordCheck(matches: hash == "hash:" + password, isBlocked: password == "a leaked secret")
  }

  func hash(_ password: String, commitDecision: CommitDecision) async throws -> String {
    if let failure = failing.withLock({ $0 }) { throw failure }
    return "hash:" + password
  }

  func isCommon(_ password: String) -> Bool { password == "password1" }

  func isBlocked(_ password: String, commitDecision: CommitDecision) async throws -> Bool {
    password == "a leaked secret"
  }
}

/// Tokens that are only names. This object has their contents.
final class FakeTokens: Tokens {
  private let idTokens = Mutex<[String: IDToken]>([:])
  private let customTokens = Mutex<[String: CustomToken]>([:])
  private let hasSigningKey = Mutex(true)

  func setSigningKey(active: Bool) { hasSigningKey.withLock { $0 = active } }

  func requireSigningKey(at now: Timestamp) throws {
    guard hasSigningKey.withLock({ $0 }) else { throw Failure(.signingKeyUnavailable, retryAfterMillis: 5_000) }
  }

  func mintIDToken(_ claims: IDToken) throws -> String {
    try requireSigningKey(at: claims.issuedAt)
    return idTokens.withLock { known in
      let text = "id-\(known.count)"
      known[text] = claims
      return text
    }
  }

  func mintSessionCookie(_ claims: IDToken) throws -> String { "cookie-" + (try mintIDToken(claims)) }

  func verifySessionCookie(_ cookie: String, at now: Timestamp) throws -> IDToken {
    guard cookie.hasPrefix("cookie-") else { throw Failure(.invalidIDToken) }
    return try verifyIDToken(String(cookie.dropFirst(7)), at: now)
  }

  func verifyIDToken(_ token: String, at now: Timestamp) throws -> IDToken {
    guard let claims = idTokens.withLock({ $0[token] }) else { throw Failure(.invalidIDToken) }
    guard now < claims.expiresAt else { throw Failure(.tokenExpired) }
    return claims
  }

  func mintCustomToken(_ token: CustomToken) throws -> String {
    customTokens.withLock { known in
      let text = "custom-\(known.count)"
      known[text] = token
      return text
    }
  }

  func verifyCustomToken(_ token: String, at now: Timestamp) throws -> CustomToken {
    guard let claims = customTokens.withLock({ $0[token] }) else { throw Failure(.invalidCustomToken) }
    guard now < claims.expiresAt else { throw Failure(.tokenExpired) }
    return claims
  }

  func validateCustomClaims(_ json: String, field: String) throws {
    if json.utf8.count > 1000 { throw Failure(.claimsTooLarge, field: field) }
    if json.contains("\"sub\"") { throw Failure(.forbiddenClaim, field: field) }
  }

  func claims(_ json: String, overriddenBy other: String) throws -> String {
    guard !json.isEmpty, !other.isEmpty else { return json + other }
    return json.dropLast() + "," + other.dropFirst()
  }

  func claimsJSON(_ token: String) throws -> String {
    let name = token.hasPrefix("cookie-") ? String(token.dropFirst(7)) : token
    guard let claims = idTokens.withLock({ $0[name] }) else { throw Failure(.invalidIDToken) }
    return "{\"sub\":\"\(claims.accountID)\"}"
  }
}

/// Providers that accept every token that a test has registered.
final class FakeProviders: Providers {
  private let known = Mutex<[String: VerifiedCredential]>([:])
  private let redemptions = Mutex<[PendingFlow]>([])
  private let refusal = Mutex<Failure?>(nil)
  private let revocations = Mutex<[TokenToRevoke]>([])
  private let unrevocable = Mutex<[String: Failure]>([:])
  private let duringRevocation = Mutex<(@Sendable () async throws -> Void)?>(nil)
  /// The tokens that the provider was asked to revoke, in order.
  var askedToRevoke: [TokenToRevoke] { revocations.withLock { $0 } }
  /// A provider whose protocol has no `state`.
  let echoesNoState = "oidc.other"

  let flowProviderIDs: Set<String> = ["google.com", "oidc.corp", "oidc.other"]
  /// The flows whose codes were redeemed, in order.
  var redeemed: [PendingFlow] { redemptions.withLock { $0 } }

  func subject(ofImported text: String, at providerID: String) throws -> String { text }

  func refuse(with failure: Failure?) { refusal.withLock { $0 = failure } }

  func start(_ flow: FlowOrder, at now: Timestamp) async throws -> StartedFlow {
    if let failure = refusal.withLock({ $0 }) { throw failure }
    return StartedFlow(
      authorizationURL: "https://\(flow.providerID)/authorize?state=\(flow.state)", responseMode: .query,
      stateIsEchoed: flow.providerID != echoesNoState, kept: "kept for \(flow.providerID)")
  }

  /// Revokes every token except those that a test has named, and records what it was asked.
  func revoke(_ token: TokenToRevoke, at now: Timestamp) async throws {
    revocations.withLock { $0.append(token) }
    let action = duringRevocation.withLock { action in
      defer { action = nil }
      return action
    }
    try await action?()
    if let failure = unrevocable.withLock({ $0[token.text] }) { throw failure }
  }

  /// Runs the action while the provider revokes the next token.
  func whileRevoking(_ action: @escaping @Sendable () async throws -> Void) {
    duringRevocation.withLock { $0 = action }
  }

  func refuse(toRevoke text: String, with failure: Failure?) { unrevocable.withLock { $0[text] = failure } }

  /// A code that the provider redeems for this credential.
  func code(_ credential: VerifiedCredential) -> String {
    known.withLock { known in
      let code = "code-\(known.count)"
      known[code] = credential
      return code
    }
  }

  func finish(
    _ flow: PendingFlow, with parameters: [String: String], at now: Timestamp
  ) async throws -> VerifiedCredential {
    redemptions.withLock { $0.append(flow) }
    if let failure = refusal.withLock({ $0 }) { throw failure }
    guard let code = parameters["code"], let credential = known.withLock({ $0[code] }) else {
      throw Failure(.invalidCredential)
    }
    return credential
  }

  /// The token for this assertion; `singleUseUntil` makes it valid once.
  func token(
    _ assertion: Assertion, singleUseUntil: Timestamp? = nil, authenticatedAt: Timestamp? = nil
  ) -> ProviderToken {
    known.withLock { known in
      let text = "token-\(known.count)"
      let singleUse = singleUseUntil.map {
        SingleUse(digest: FakeCryptography().sha256(Array(text.utf8)), expiresAt: $0)
      }
      known[text] = VerifiedCredential(
        assertion: assertion, singleUse: singleUse, authenticatedAt: authenticatedAt)
      return ProviderToken(providerID: assertion.identity.providerID, idToken: text)
    }
  }

  func verify(_ token: ProviderToken, at now: Timestamp) async throws -> VerifiedCredential {
    guard let credential = known.withLock({ $0[token.idToken] }) else { throw Failure(.invalidCredential) }
    return credential
  }
}
