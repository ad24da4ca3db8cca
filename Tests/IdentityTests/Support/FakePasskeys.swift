import Encodings
import Store
import Synchronization

@testable import Identity

/// Verification of passkeys whose responses are lists of readable words, with a stand-in for a signature.
final class FakePasskeys: Passkeys {
  static let relyingParty = "example.com"
  private let creations = Mutex<[PasskeyCreation]>([])
  private let requests = Mutex<[PasskeyRequest]>([])

  /// What the last options contain.
  var lastCreation: PasskeyCreation? { creations.withLock { $0.last } }
  var lastRequest: PasskeyRequest? { requests.withLock { $0.last } }

  func relyingPartyIDs(of caller: CallerName) -> [String] {
    caller.text == "spiffe://test/none" ? [] : [FakePasskeys.relyingParty, "other.example"]
  }

  func creationOptions(_ order: PasskeyCreation) throws -> String {
    creations.withLock { $0.append(order) }
    return Base64URL.encode(order.challenge.challenge)
  }

  func requestOptions(_ order: PasskeyRequest) throws -> String {
    requests.withLock { $0.append(order) }
    return Base64URL.encode(order.challenge.challenge)
  }

  func verifyRegistration(_ json: String, answering challenge: PasskeyChallenge) throws -> Passkey {
    let words = try words(json, answering: challenge)
    return Passkey(
      relyingPartyID: challenge.relyingPartyID, credentialID: Array(words[1].utf8), userHandle: challenge.userHandle,
      publicKey: Array("key of \(words[1])".utf8), algorithm: -7, signCount: Int64(words[3]) ?? 0,
      backupEligible: words[5] == "synced", backedUp: words[5] == "synced", userVerified: words[4] == "verified")
  }

  func credentialID(in json: String) throws -> [UInt8] { try parseAssertion(json).credentialID }

  func parseAssertion(_ json: String) throws -> PresentedPasskey {
    let words = json.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    guard words.count == 6 else { throw Failure.invalidPasskey("malformed_json") }
    return PresentedPasskey(
      credentialID: Array(words[1].utf8), userHandle: words[2].isEmpty ? nil : Base64URL.decode(words[2]))
  }

  func verifyAssertion(_ json: String, by passkey: Passkey, answering challenge: PasskeyChallenge) throws -> PasskeyUse
  {
    let words = try words(json, answering: challenge)
    guard passkey.publicKey == Array("key of \(words[1])".utf8) else { throw Failure.invalidPasskey("signature") }
    return PasskeyUse(
      signCount: Int64(words[3]) ?? 0, userVerified: words[4] == "verified", backupEligible: words[5] == "synced",
      backedUp: words[5] == "synced")
  }

  private func words(_ json: String, answering challenge: PasskeyChallenge) throws -> [String] {
    let words = json.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    guard words.count == 6 else { throw Failure.invalidPasskey("malformed_json") }
    guard words[0] == Base64URL.encode(challenge.challenge) else { throw Failure.invalidPasskey("challenge") }
    return words
  }
}

/// One passkey in a user's device.
struct FakeAuthenticator {
  var credentialID: String
  var userHandle: [UInt8] = []
  var signCount = 0
  var verifiesUser = true
  var isSynced = false

  init(_ credentialID: String = "key-1", verifiesUser: Bool = true, isSynced: Bool = false) {
    self.credentialID = credentialID
    self.verifiesUser = verifiesUser
    self.isSynced = isSynced
  }

  /// The response to options of `FakePasskeys`.
  func response(to optionsJSON: String, withHandle: Bool = true) -> String {
    [
      optionsJSON, credentialID, withHandle ? Base64URL.encode(userHandle) : "", "\(signCount)",
      verifiesUser ? "verified" : "present", isSynced ? "synced" : "bound",
    ].joined(separator: " ")
  }
}

extension World {
  func startRegistration(_ session: SessionGrant? = nil, _ call: CallFacts? = nil) async throws -> StartedCeremony {
    try await StartRegistration(environment)(
      StartRegistrationRequest(idToken: session?.idToken ?? ""), call ?? self.call())
  }

  /// Registers a passkey for the account of a session.
  @discardableResult
  func register(
    _ authenticator: inout FakeAuthenticator, _ session: SessionGrant, name: String = "My key", _ call: CallFacts? = nil
  ) async throws -> LinkAnswer {
    let started = try await startRegistration(session, call)
    authenticator.userHandle = passkeys.lastCreation?.challenge.userHandle ?? []
    let response = PasskeyResponse(
      .registration(started.id), credentialJSON: authenticator.response(to: started.optionsJSON), name: name)
    return try await link(.passkey(response), session, call)
  }

  /// Creates an account with a passkey.
  func signUp(_ authenticator: inout FakeAuthenticator, existingOnly: Bool = false) async throws -> SignInAnswer {
    let started = try await startRegistration()
    authenticator.userHandle = passkeys.lastCreation?.challenge.userHandle ?? []
    let response = PasskeyResponse(
      .registration(started.id), credentialJSON: authenticator.response(to: started.optionsJSON))
    return try await signIn(.passkey(response), existingOnly: existingOnly)
  }

  func startPasskeySignIn(
    email: String? = nil, purpose: FlowPurpose = .signIn, _ session: SessionGrant? = nil, _ call: CallFacts? = nil
  ) async throws -> StartedCeremony {
    try await StartPasskeySignIn(environment)(
      StartPasskeySignInRequest(email: email, purpose: purpose, idToken: session?.idToken ?? ""), call ?? self.call())
  }

  /// The credential of a sign-in that was started now.
  func credential(
    _ authenticator: FakeAuthenticator, purpose: FlowPurpose = .signIn, _ session: SessionGrant? = nil
  ) async throws -> Credential {
    let started = try await startPasskeySignIn(purpose: purpose, session)
    return .passkey(
      PasskeyResponse(.signIn(started.id), credentialJSON: authenticator.response(to: started.optionsJSON)))
  }

  /// The stored passkey of an authenticator.
  func stored(_ authenticator: FakeAuthenticator) -> Passkey? {
    store.contents.identities.values.first {
      $0.key == environment.identityKey(of: Array(authenticator.credentialID.utf8))
    }.flatMap { Passkey(of: $0) }
  }

  func passkeyID(_ authenticator: FakeAuthenticator) -> String {
    environment.passkeyID(of: Array(authenticator.credentialID.utf8))
  }

  func remove(
    _ authenticator: FakeAuthenticator, _ session: SessionGrant, _ call: CallFacts? = nil
  ) async throws -> SessionGrant {
    try await RemovePasskey(environment)(
      idToken: session.idToken, passkeyID: passkeyID(authenticator), call ?? self.call())
  }

  /// The names of the written events, oldest first.
  var events: [String] { store.contents.audit.map(\.event) }
}
