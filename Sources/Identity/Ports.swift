// What the domain needs of the outside, each with a real answer in the composition root and a fake one in tests.

package import Store

package protocol Clock: Sendable {
  func now() -> Timestamp
}

package protocol Randomness: Sendable {
  func bytes(_ count: Int) -> [UInt8]
}

extension Randomness {
  /// The bytes above the largest multiple of the alphabet's size are passed over, since folding them back would make
  /// the first letters likelier than the rest. Some more are drawn for their sake: to draw a second time, which costs
  /// as much as the first, is then one in thousands.
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

/// Hashes of secrets that the store keeps in their place, and the sealing of pending rows.
package protocol Cryptography: Sendable {
  func sha256(_ bytes: [UInt8]) -> Digest
  /// The refresh token that follows `token` in `family`: HMAC under a key that is not in the database, so that every
  /// replica derives the same one.
  func successor(of token: [UInt8], family: String) -> [UInt8]
  /// Proves that a refresh token was made here: HMAC over family and secret.
  func refreshTag(of token: [UInt8], family: String) -> [UInt8]
  /// The name under which attempts are counted: HMAC under a key that is not in the database, so that its rows do not
  /// tell which addresses were tried.
  func throttleKey(_ bytes: [UInt8]) -> Digest
  /// For one-time passwords alone, whose algorithm it is (RFC 4226).
  func hmacSHA1(key: [UInt8], _ bytes: [UInt8]) -> [UInt8]
  /// Names a secret by what tells nobody the secret, also where it could be guessed: HMAC under a key that is not in
  /// the database, one for each purpose.
  func keyedDigest(_ bytes: [UInt8], purpose: String) -> Digest
  func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool
  func seal(_ plaintext: [UInt8], context: [UInt8]) -> [UInt8]
  /// nil: not sealed by us, or for another context.
  func open(_ sealed: [UInt8], context: [UInt8]) -> [UInt8]?
}

/// Password work, on bounded workers. Throws `Failure(.overloaded)` with a retry hint before any work at a full queue
/// and where there is no memory for it, and `Failure(.cancelled)` for a call that was given up before its turn: of none
/// of them anything is counted.
package protocol Passwords: Sendable {
  /// Throws `Failure(.overloaded)` where `verify` and `hash` would, so that a flood costs no look-ups either.
  func requireRoom() throws(Failure)
  /// nil as `hash`: the account is unknown or has no password; the same work is done and the answer is false.
  func verify(_ password: String, hash: String?, fate: Fate) async throws -> PasswordCheck
  func hash(_ password: String, fate: Fate) async throws -> String
  /// A common password of the block-list; cheap, asked when a password is set.
  func isCommon(_ password: String) -> Bool
}

package struct PasswordCheck: Hashable, Sendable {
  package var matches: Bool
  /// The hash under today's parameters, where the stored one is older and the password matched.
  package var upgradedHash: String?

  package init(matches: Bool, upgradedHash: String? = nil) {
    self.matches = matches
    self.upgradedHash = upgradedHash
  }
}

/// Our own tokens.
package protocol Tokens: Sendable {
  func mintIDToken(_ claims: IDToken) throws -> String
  /// Throws `Failure(.signingKeyUnavailable)` where minting would fail, so that a call stops before it changes a
  /// session whose tokens it could not return.
  func requireSigningKey(at now: Timestamp) throws
  /// Throws `Failure` `.invalidIDToken` or `.tokenExpired`. Looks at signature, type, issuer and expiry only; whether
  /// the session is open is the domain's to ask.
  func verifyIDToken(_ token: String, at now: Timestamp) throws -> IDToken
  func mintCustomToken(_ token: CustomToken) throws -> String
  /// Throws `Failure(.invalidCustomToken)` or `.tokenExpired`.
  func verifyCustomToken(_ token: String, at now: Timestamp) throws -> CustomToken
  /// Throws `Failure` `.forbiddenClaim` or `.claimsTooLarge` naming the field.
  func validateCustomClaims(_ json: String, field: String) throws
  /// The claims of a token that `verifyIDToken` accepted, as JSON.
  func claimsJSON(_ token: String) throws -> String
}

/// What an ID token of ours says; `latchkey` facts included.
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
  /// Subjects by provider id, in the order they were linked.
  package var identities: [IdentityKey]
  package var signInProviderID: String
  package var signInSecondFactor: String?
  package var signInSecondFactorID: String?
  /// Of the account, a JSON object or empty.
  package var customClaimsJSON = ""
  /// Of the session, from the custom token that opened it; they win over the account's of the same name.
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
  /// The account's `tokensValidAfter` when we minted the token; 0 without one. nil: a registered signer minted it.
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

/// What a caller brings from a provider's own SDK.
package struct ProviderToken: Hashable, Sendable {
  package var providerID: String
  package var idToken: String
  package var accessToken: String
  package var tokenSecret: String
  package var rawNonce: String

  package init(
    providerID: String, idToken: String = "", accessToken: String = "", tokenSecret: String = "", rawNonce: String = ""
  ) {
    self.providerID = providerID
    self.idToken = idToken
    self.accessToken = accessToken
    self.tokenSecret = tokenSecret
    self.rawNonce = rawNonce
  }
}

/// A token that may be presented once: what to remember of it, and until when.
package struct SingleUse: Hashable, Sendable {
  package var digest: Digest
  package var expiresAt: Timestamp

  package init(digest: Digest, expiresAt: Timestamp) {
    self.digest = digest
    self.expiresAt = expiresAt
  }

  var spending: Write { .spendToken(digest, expiresAt: expiresAt) }
}

/// The provider's own tokens: handed back to the caller, and kept nowhere.
package struct ProviderTokens: Hashable, Sendable {
  package var providerID: String
  package var accessToken = ""
  package var idToken = ""
  /// Of an OAuth 1.0a access token.
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
  /// When the person last proved itself to the provider, where the provider says so under its signature.
  package var authenticatedAt: Timestamp?

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
  /// The subject that a later sign-in will have, from what another service's export calls it. Throws `Failure`.
  func subject(ofImported text: String, at providerID: String) throws -> String
  /// Those that flows can be started at.
  var flowProviderIDs: Set<String> { get }
  /// Throws `Failure`.
  func start(_ flow: FlowOrder, at now: Timestamp) async throws -> StartedFlow
  /// Redeems what came back. Called once at most for a flow, after its state was compared. Throws `Failure`.
  func finish(_ flow: HeldFlow, with parameters: [String: String], at now: Timestamp) async throws -> VerifiedCredential
}

/// What a flow is begun with: the caller's wishes and fresh random texts.
package struct FlowOrder: Hashable, Sendable {
  package var providerID: String
  package var redirectURI: String
  package var scopes: [String]
  package var parameters: [String: String]
  package var loginHint: String
  /// The person is to prove itself anew.
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

/// Where the person goes, and what the provider's adapter needs again when it is back.
package struct StartedFlow: Hashable, Sendable {
  package var authorizationURL: String
  package var responseMode: String
  /// False where the protocol has no `state`: the adapter then compares what binds the redirect to the flow.
  package var stateIsEchoed: Bool
  package var kept: String

  package init(authorizationURL: String, responseMode: String, stateIsEchoed: Bool = true, kept: String = "") {
    self.authorizationURL = authorizationURL
    self.responseMode = responseMode
    self.stateIsEchoed = stateIsEchoed
    self.kept = kept
  }
}
