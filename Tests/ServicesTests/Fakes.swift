import Crypto
import Identity
import Store
import TestSupport

/// Returns the same facts for every look-up, and commits every change.
struct FixedStore: UncopiedStore {
  let facts: Facts
  let methods: SignInMethodsRecord?
  /// False for a store behind a network.
  let answersNow: Bool

  func attachThread() throws {}
  func detachThread() {}
  func endTurn() {}
  func now(_ query: Query) throws -> Facts? { answersNow ? facts : nil }
  func load(_ query: Query) async throws -> Facts { facts }
  func now(_ query: SignInMethodsQuery) throws -> SignInMethodsRecord?? { answersNow ? .some(methods) : nil }
  func load(_ query: SignInMethodsQuery) async throws -> SignInMethodsRecord? { methods }
  func commit(_ change: Change, commitDecision: CommitDecision) async throws -> Outcome { .committed }
  func sweep(at now: Timestamp, rowsMax: Int, auditedBefore: Timestamp) async throws -> Int { 0 }
  func close() async {}
}

struct FixedClock: Identity.Clock {
  func now() -> Timestamp { Timestamp(millis: 1_800_000_000_000) }
}

struct FixedRandomness: Randomness {
  func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8($0 % 200) } }
}

/// Real digests, but seals that anyone can open.
struct PlainCryptography: Cryptography {
  func sha256(_ bytes: [UInt8]) -> Digest { Digest(Crypto.sha256(bytes)) }
  var masterKeyCount: Int { 1 }
  var masterKeyIDs: [MasterKeyID] { [MasterKeyID(text: "00000001")] }
  func successor(of token: [UInt8], family: String, masterKey: Int) -> [UInt8] {
    Crypto.sha256(token + Array(family.utf8))
  }
  func refreshTag(of token: [UInt8], family: String, masterKey: Int) -> [UInt8] {
    Crypto.sha256(Array(family.utf8) + token)
  }
  func throttleKey(_ bytes: [UInt8], masterKey: Int) -> Digest { sha256(bytes) }
  func hmacSHA1(key: [UInt8], _ bytes: [UInt8]) -> [UInt8] { Crypto.hmacSHA1(key: Secret(copying: key), bytes) }
  func keyedDigest(_ bytes: [UInt8], purpose: String) -> Digest {
    Digest(Crypto.sha256(Array(purpose.utf8) + bytes))
  }
  func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool { left == right }
  func seal(_ plaintext: [UInt8], context: [UInt8]) -> [UInt8] { plaintext }
  func open(_ sealed: [UInt8], context: [UInt8]) -> [UInt8]? { sealed }
}

struct PlainPasswords: Passwords {
  func canVerify(hash: String) async throws -> Bool { true }
  func requireRoom() throws(Failure) {}
  func verify(_ password: String, hash: String?, commitDecision: CommitDecision) async throws -> PasswordCheck {
    PasswordCheck(matches: hash != nil)
  }
  func hash(_ password: String, commitDecision: CommitDecision) async throws -> String { "hash" }
  func isCommon(_ password: String) -> Bool { false }
  func isBlocked(_ password: String, commitDecision: CommitDecision) async throws -> Bool { false }
}

/// Accepts any text as an ID token of Ada's session.
struct TrustingTokens: Tokens {
  func mintIDToken(_ claims: IDToken) throws -> String { "id-token" }
  func requireSigningKey(at now: Timestamp) throws {}
  func verifyIDToken(_ token: String, at now: Timestamp) throws -> IDToken {
    guard token != "bad" else { throw Failure(.invalidIDToken) }
    return IDToken(
      accountID: "account-ada", audience: "app", sessionID: "session-1", issuedAt: now,
      expiresAt: now.adding(millis: 1_000), authTime: now, methods: ["pwd"], signInProviderID: "password")
  }
  func mintSessionCookie(_ claims: IDToken) throws -> String { "session-cookie" }
  func verifySessionCookie(_ cookie: String, at now: Timestamp) throws -> IDToken {
    try verifyIDToken(cookie, at: now)
  }
  func mintCustomToken(_ token: CustomToken) throws -> String { "custom-token" }
  func verifyCustomToken(_ token: String, at now: Timestamp) throws -> CustomToken {
    CustomToken(accountID: "account-ada", issuedAt: now, expiresAt: now)
  }
  func validateCustomClaims(_ json: String, field: String) throws {}
  func claims(_ json: String, overriddenBy other: String) throws -> String { other.isEmpty ? json : other }
  func claimsJSON(_ token: String) throws -> String { "{\"sub\":\"account-ada\"}" }
}

/// One key, `signing`, that is an hour old. Its successor is `next`.
struct FixedSigningKeys: SigningKeyAdministration {
  private var keys: [SigningKeyStatus] {
    let from = now.adding(millis: -3_600_000)
    return [
      SigningKeyStatus(
        keyID: "signing", algorithm: "ES256", state: .signing, publishedAt: from, activeFrom: from, retiredAt: nil,
        ageMillis: 3_600_000),
    ]
  }

  func list() async throws -> [SigningKeyStatus] { keys }

  func rotate(_ call: CallFacts) async throws -> RotatedSigningKeys {
    RotatedSigningKeys(keys: keys, newKeyID: call.caller == CallerName("web") ? "next" : nil)
  }

  func revoke(keyID: String, _ call: CallFacts) async throws -> RevokedSigningKey {
    guard keyID == "signing" else { throw Failure(.signingKeyNotFound, field: "key_id") }
    return RevokedSigningKey(
      keys: keys, successorKeyID: nil, serversRejectAt: now.adding(millis: 1),
      verifiersRejectAt: now.adding(millis: 2))
  }
}

struct TrustingProviders: Providers {
  func verify(_ token: ProviderToken, at now: Timestamp) async throws -> VerifiedCredential {
    var tokens = ProviderTokens(providerID: token.providerID)
    tokens.idToken = token.idToken
    tokens.accessToken = token.accessToken
    return VerifiedCredential(assertion: assertion, tokens: tokens)
  }

  func subject(ofImported text: String, at providerID: String) throws -> String { text }

  let flowProviderIDs: Set<String> = ["google.com"]

  func start(_ flow: FlowOrder, at now: Timestamp) async throws -> StartedFlow {
    StartedFlow(authorizationURL: "https://google.com/authorize", responseMode: .query)
  }

  func revoke(_ token: TokenToRevoke, at now: Timestamp) async throws {}

  func finish(
    _ flow: PendingFlow, with parameters: [String: String], at now: Timestamp
  ) async throws -> VerifiedCredential {
    VerifiedCredential(assertion: assertion)
  }
}

extension Facts {
  /// The store's facts while Ada's session is open.
  static var adaSignedIn: Facts {
    var facts = Facts()
    facts.session = SessionRecord(
      id: "session-1", accountID: "account-ada", caller: CallerName("web"), refreshDigest: Digest(Crypto.sha256([])),
      authTime: now, signInProviderID: "password", methods: ["pwd"], audience: "app", createdAt: now,
      idleExpiresAt: now.adding(millis: 60_000), expiresAt: now.adding(millis: 60_000))
    facts.sessionAccount = ada()
    return facts
  }
}
