import Crypto
import Fetch
import Store
import Tokens

/// `apple.com`. Our client secret there is a statement that we sign, the redirect is a form post, and a token from a
/// native kit has the hash of its nonce, which makes it good once.
struct AppleProvider: OIDCAdapter {
  /// Of the field `user` in the form post.
  static let userBytesMax = 4096

  let client: OIDCClient

  static func standard(id: String) -> ProviderSettings {
    var settings = ProviderSettings(id: id)
    settings.issuers = ["https://appleid.apple.com"]
    settings.keys = .jwks(url: "https://appleid.apple.com/auth/keys")
    settings.endpoints = Endpoints(
      authorization: "https://appleid.apple.com/auth/authorize", token: "https://appleid.apple.com/auth/token")
    settings.client.authentication = .privateKeyJWT
    settings.scopes = ["openid", "email", "name"]
    settings.callerParameters = ["locale"]
    settings.nonce = .required
    settings.kitsHashNonces = true
    settings.usesProofKey = false
    settings.freshLogin = .none
    settings.profileUse = .never
    settings.takesTextAsVerified = true
    settings.emailTrust = .asserted(.verified, authoritativeDomains: [])
    return settings
  }

  static func check(_ settings: ProviderSettings) throws(ProviderSettingsError) {
    try settings.checkSignedTokens()
    try settings.require(
      settings.client.authentication == .privateKeyJWT, "client_authentication",
      "cannot be set: Apple has one of its own")
    guard settings.client.isConfigured else { return }
    try settings.require(!settings.client.teamID.isEmpty, "team_id", "must be set, as private_key_file is")
    try settings.require(!settings.client.keyID.isEmpty, "key_id", "must be set, as private_key_file is")
  }

  init(_ settings: ProviderSettings, fetching: any HTTPSFetching) throws(ProviderSettingsError) {
    var flow: CodeFlow?
    if settings.client.isConfigured {
      let key = try settings.loadedKey()
      try settings.require(key.key.kind == .p256, "private_key_file", "must hold a P-256 key")
      let secret = ClientProof.signedSecret(key, team: settings.client.teamID, audience: settings.issuers[0])
      flow = try CodeFlow.openID(settings, proof: secret, fetching: fetching)
      flow?.authorization.responseMode = .formPost
      flow?.authorization.loginHintName = nil
    }
    client = OIDCClient(settings, flow: flow, fetching: fetching)
  }

  /// The person's name comes once, at its first consent, in the form and not under the signature: good enough to be
  /// shown, and for nothing else.
  func finish(_ callback: Callback, of flow: FlowState, at now: Timestamp) async throws -> VerifiedToken {
    var verified = try await client.finish(callback, of: flow, at: now)
    if verified.assertion.displayName.isEmpty, let user = callback["user"] {
      verified.assertion.displayName = AppleProvider.name(in: user)
    }
    return verified
  }

  static func name(in user: String) -> String {
    guard let name = (try? JSONValue.parse(Array(user.utf8), byteCountMax: userBytesMax))?["name"] else { return "" }
    let parts = [name["firstName"], name["lastName"]].map(Person.text).filter { !$0.isEmpty }
    return Person.text(.string(parts.joined(separator: " ")))
  }
}
