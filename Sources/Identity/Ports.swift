// Interfaces to everything outside the domain. The composition root supplies real implementations, tests supply fakes.

package import Store

package protocol Clock: Sendable {
  func now() -> Timestamp
}

package protocol Randomness: Sendable {
  func bytes(_ count: Int) -> [UInt8]
}

extension Randomness {
  /// Appends `count` random letters of `alphabet` to `letters`.
  ///
  /// Skips bytes at or above the largest multiple of the alphabet's size. Folding them back would make the first
  /// letters more likely. Draws 6 spare bytes each time. A second draw costs as much as the first, and is then needed
  /// once in thousands of calls.
  func append(_ count: Int, of alphabet: [UInt8], to letters: inout [UInt8]) {
    let end = letters.count + count
    let size = UInt8(alphabet.count)
    let ceiling = 256 - 256 % alphabet.count
    while letters.count < end {
      for byte in bytes(end - letters.count + 6) where Int(byte) < ceiling && letters.count < end {
        letters.append(alphabet[Int(byte % size)])
      }
    }
  }

  func text(_ count: Int, of alphabet: [UInt8]) -> String {
    var letters: [UInt8] = []
    letters.reserveCapacity(count)
    append(count, of: alphabet, to: &letters)
    return String(decoding: letters, as: UTF8.self)
  }

  func digits(_ count: Int) -> String { text(count, of: Array("0123456789".utf8)) }
}

/// Hashes that the store keeps in place of secrets, and the sealing of pending rows.
///
/// A master key is a number below `masterKeyCount`. Key 0 seals, names and derives. The others open what was sealed
/// under them, and their digests are looked up. MasterKeys.swift states what happens to each value in a rotation.
package protocol Cryptography: Sendable {
  var masterKeyCount: Int { get }
  /// The ids of the master keys, in the same order.
  var masterKeyIDs: [MasterKeyID] { get }
  func sha256(_ bytes: [UInt8]) -> Digest
  /// Derives the refresh token that follows `token` in `family`.
  ///
  /// An HMAC under a key that is not in the database, so that every replica derives the same token.
  func successor(of token: [UInt8], family: String, masterKey: Int) -> [UInt8]
  /// Returns the tag that proves that this service issued a refresh token: an HMAC over family and secret.
  func refreshTag(of token: [UInt8], family: String, masterKey: Int) -> [UInt8]
  /// Returns the name under which attempts are counted.
  ///
  /// An HMAC under a key that is not in the database, so that its rows do not reveal which email addresses were tried.
  func throttleKey(_ bytes: [UInt8], masterKey: Int) -> Digest
  /// Computes an HMAC-SHA-1. Only for one-time passwords, whose algorithm it is (RFC 4226).
  func hmacSHA1(key: [UInt8], _ bytes: [UInt8]) -> [UInt8]
  /// Returns a name for a secret that does not reveal it, even if it could be guessed.
  ///
  /// An HMAC under a key that is not in the database, with one key for each purpose. Only under the first master key.
  func keyedDigest(_ bytes: [UInt8], purpose: String) -> Digest
  func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool
  func seal(_ plaintext: [UInt8], context: [UInt8]) -> [UInt8]
  /// Returns nil if this service did not seal `sealed`, or sealed it for another context.
  func open(_ sealed: [UInt8], context: [UInt8]) -> [UInt8]?
}

/// Password hashing on a bounded set of worker threads.
///
/// Throws `Failure(.overloaded)` with a retry hint before any work if the queue is full or memory is short. Throws
/// `Failure(.cancelled)` for a call that was cancelled before its turn. Neither counts as an attempt.
package protocol Passwords: Sendable {
  /// Throws `Failure(.overloaded)` where `verify` and `hash` would, so that a flood of calls causes no look-ups.
  func requireRoom() throws(Failure)
  /// Compares a password with a hash.
  /// - Parameter hash: nil for an unknown account or one without a password. The same work is done, and the result is
  ///   false.
  func verify(_ password: String, hash: String?, commitDecision: CommitDecision) async throws -> PasswordCheck
  func hash(_ password: String, commitDecision: CommitDecision) async throws -> String
  /// Reports whether any password could match a hash. False for an imported hash whose key is missing or unreadable.
  func canVerify(hash: String) async throws -> Bool
  /// Reports whether the built-in list contains the password. Cheap. Called when a password is set.
  func isCommon(_ password: String) -> Bool
  /// Reports whether the operator's list contains the password. Called when a password is set.
  func isBlocked(_ password: String, commitDecision: CommitDecision) async throws -> Bool
}

package struct PasswordCheck: Hashable, Sendable {
  package var matches: Bool
  /// The hash under the current parameters, if the stored one is older and the password matched.
  package var upgradedHash: String?
  /// Whether the password matched and is in the operator's list, if sign-ins are compared with it.
  package var isBlocked: Bool

  package init(matches: Bool, upgradedHash: String? = nil, isBlocked: Bool = false) {
    self.matches = matches
    self.upgradedHash = upgradedHash
    self.isBlocked = isBlocked
  }
}

/// Tokens that this service issues.
package protocol Tokens: Sendable {
  func mintIDToken(_ claims: IDToken) throws -> String
  /// Throws `Failure(.signingKeyUnavailable)` if minting would fail. A call then stops before it changes a session
  /// whose tokens it could not return.
  func requireSigningKey(at now: Timestamp) throws
  /// Verifies signature, type, issuer and expiry. The domain checks whether the session is open.
  ///
  /// Throws `Failure` `.invalidIDToken` or `.tokenExpired`.
  func verifyIDToken(_ token: String, at now: Timestamp) throws -> IDToken
  /// A session cookie has the contents of an ID token, and is none.
  func mintSessionCookie(_ claims: IDToken) throws -> String
  /// As `verifyIDToken`.
  func verifySessionCookie(_ cookie: String, at now: Timestamp) throws -> IDToken
  func mintCustomToken(_ token: CustomToken) throws -> String
  /// Throws `Failure(.invalidCustomToken)` or `.tokenExpired`.
  func verifyCustomToken(_ token: String, at now: Timestamp) throws -> CustomToken
  /// Throws `Failure` `.forbiddenClaim` or `.claimsTooLarge` with the field's name.
  func validateCustomClaims(_ json: String, field: String) throws
  /// Returns claims in which those of `other` replace claims of the same name. Either may be empty.
  func claims(_ json: String, overriddenBy other: String) throws -> String
  /// Returns the claims of a token that `verifyIDToken` or `verifySessionCookie` accepted, as JSON.
  func claimsJSON(_ token: String) throws -> String
}

/// Contents of an ID token of this service, including its `latchkey` claims.
package struct IDToken: Hashable, Sendable {
  package var accountID: String
  package var audience: String
  package var sessionID: String
  package var issuedAt: Timestamp
  package var expiresAt: Timestamp
  package var authTime: Timestamp
  package var methods: [String]
  package var email: String?
  package var emailVerified = false
  package var phoneNumber: String?
  package var name: String?
  package var picture: String?
  /// Provider ids and subjects, in the order in which they were linked.
  package var identities: [IdentityKey]
  package var signInProviderID: String
  package var signInSecondFactor: String?
  package var signInSecondFactorID: String?
  /// Claims of the account: a JSON object, or empty.
  package var customClaimsJSON = ""
  /// Claims of the session, from hooks and the custom token that opened it. They override claims of the account with
  /// the same name.
  package var sessionClaimsJSON = ""

  package init(
    accountID: String, audience: String, sessionID: String, issuedAt: Timestamp, expiresAt: Timestamp,
    authTime: Timestamp, methods: [String], signInProviderID: String
  ) {
    self.accountID = accountID
    self.audience = audience
    self.sessionID = sessionID
    self.issuedAt = issuedAt
    self.expiresAt = expiresAt
    self.authTime = authTime
    self.methods = methods
    self.signInProviderID = signInProviderID
    identities = []
  }
}

package struct CustomToken: Hashable, Sendable {
  package static let field = "credential.custom_token.token"

  package var accountID: String
  package var issuedAt: Timestamp
  package var expiresAt: Timestamp
  /// A JSON object, or empty.
  package var claimsJSON: String
  /// The account's `tokensValidAfter` when this service minted the token, or 0 if it had none. nil if a registered
  /// signer minted the token.
  package var cutOff: Timestamp?

  package init(
    accountID: String, issuedAt: Timestamp, expiresAt: Timestamp, claimsJSON: String = "", cutOff: Timestamp? = nil
  ) {
    self.cutOff = cutOff
    self.accountID = accountID
    self.issuedAt = issuedAt
    self.expiresAt = expiresAt
    self.claimsJSON = claimsJSON
  }
}

/// Token that a caller obtained through a provider's own SDK.
package struct ProviderToken: Hashable, Sendable {
  package var providerID: String
  package var idToken: String
  package var accessToken: String
  package var tokenSecret: String
  package var rawNonce: String
  /// Unsigned user data next to an ID token (Apple), from the client.
  package var userJSON: String

  package init(
    providerID: String, idToken: String = "", accessToken: String = "", tokenSecret: String = "", rawNonce: String = "",
    userJSON: String = ""
  ) {
    self.providerID = providerID
    self.idToken = idToken
    self.accessToken = accessToken
    self.tokenSecret = tokenSecret
    self.rawNonce = rawNonce
    self.userJSON = userJSON
  }
}

/// A token that may be presented once: its digest, and how long to remember it.
package struct SingleUse: Hashable, Sendable {
  package var digest: Digest
  package var expiresAt: Timestamp

  package init(digest: Digest, expiresAt: Timestamp) {
    self.digest = digest
    self.expiresAt = expiresAt
  }

  var spending: Write { .record(.spendToken(digest, expiresAt: expiresAt)) }
}

/// Tokens of the provider. The server returns them to the caller and does not store them.
package struct ProviderTokens: Hashable, Sendable {
  package var providerID: String
  package var accessToken = ""
  package var idToken = ""
  /// Secret of an OAuth 1.0a access token.
  package var secret = ""
  package var refreshToken = ""
  package var expiresInMillis: Int64?
  package var grantedScopes: [String] = []

  package init(providerID: String) { self.providerID = providerID }
}

package struct VerifiedCredential: Hashable, Sendable {
  @Boxed package var assertion: Assertion
  package var singleUse: SingleUse?
  @Held package var tokens: ProviderTokens?
  /// When the provider last authenticated the user, if a signed token states it.
  package var authenticatedAt: Timestamp?
  /// How a session begins that this passkey opens. nil: the credential is a provider's.
  @Held package var passkeyFactor: FirstFactor?

  package init(
    assertion: Assertion, singleUse: SingleUse? = nil, tokens: ProviderTokens? = nil, authenticatedAt: Timestamp? = nil
  ) {
    self.init(Boxed(wrappedValue: assertion), singleUse: singleUse, tokens: tokens, authenticatedAt: authenticatedAt)
  }

  package init(
    _ assertion: Boxed<Assertion>, singleUse: SingleUse?, tokens: ProviderTokens?, authenticatedAt: Timestamp?
  ) {
    _assertion = assertion
    self.singleUse = singleUse
    self.tokens = tokens
    self.authenticatedAt = authenticatedAt
  }
}

package protocol Providers: Sendable {
  /// Verifies the token completely: signature, audience, expiry, nonce. Throws `Failure`.
  func verify(_ token: ProviderToken, at now: Timestamp) async throws -> VerifiedCredential
  /// Converts the subject in another service's export to the one that a later sign-in will have. Throws `Failure`.
  func subject(ofImported text: String, at providerID: String) throws -> String
  /// Providers that can start flows.
  var flowProviderIDs: Set<String> { get }
  /// Starts a flow. Throws `Failure`.
  func start(_ flow: FlowOrder, at now: Timestamp) async throws -> StartedFlow
  /// Revokes a token of the provider. A token that is invalid already is no failure (T5). Throws `Failure`.
  func revoke(_ token: TokenToRevoke, at now: Timestamp) async throws
  /// Redeems the response of the provider. Called at most once for a flow, after its state was compared. Throws
  /// `Failure`.
  func finish(_ flow: PendingFlow, with parameters: [String: String], at now: Timestamp) async throws
    -> VerifiedCredential
}

/// Parameters of a new flow: the caller's choices and fresh random values.
package struct FlowOrder: Hashable, Sendable {
  package var providerID: String
  package var redirectURI: String
  package var scopes: [String]
  package var parameters: [String: String]
  package var loginHint: String
  /// Whether the provider must authenticate the user again.
  package var freshLogin: Bool
  package var state: String
  package var nonce: String
  package var codeVerifier: String

  package init(
    providerID: String, redirectURI: String, scopes: [String] = [], parameters: [String: String] = [:],
    loginHint: String = "", freshLogin: Bool = false, state: String, nonce: String, codeVerifier: String
  ) {
    self.providerID = providerID
    self.redirectURI = redirectURI
    self.scopes = scopes
    self.parameters = parameters
    self.loginHint = loginHint
    self.freshLogin = freshLogin
    self.state = state
    self.nonce = nonce
    self.codeVerifier = codeVerifier
  }
}

/// Where to send the user, and what the provider's adapter needs when the user returns.
package struct StartedFlow: Hashable, Sendable {
  /// How the provider returns its parameters.
  package enum ResponseMode: Hashable, Sendable, CaseIterable {
    case query
    case formPost
  }

  package var authorizationURL: String
  package var responseMode: ResponseMode
  /// False if the protocol has no `state`. The adapter then compares what binds the redirect to the flow.
  package var stateIsEchoed: Bool
  package var kept: String

  package init(authorizationURL: String, responseMode: ResponseMode, stateIsEchoed: Bool = true, kept: String = "") {
    self.authorizationURL = authorizationURL
    self.responseMode = responseMode
    self.stateIsEchoed = stateIsEchoed
    self.kept = kept
  }
}
