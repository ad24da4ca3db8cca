import Crypto
import HTTPClient
import Store
import Tokens

/// `apple.com`. The client secret is a JWT that we sign, and the redirect is a form post. A token from a native SDK
/// contains the hash of its nonce, so it is valid only once.
struct AppleProvider: OIDCAdapter {
  /// Maximum length of the field `user` in the form post, in bytes.
  static let userBytesMax = 4096

  let client: OIDCClient

  static func standard(id: String) -> ProviderSettings {
    var settings = ProviderSettings(id: id)
    settings.issuers = ["https://appleid.apple.com"]
    settings.keys = .jwks(url: "https://appleid.apple.com/auth/keys")
    settings.endpoints = Endpoints(
      authorization: "https://appleid.apple.com/auth/authorize", token: "https://appleid.apple.com/auth/token",
      revocation: "https://appleid.apple.com/auth/revoke")
    settings.client.authentication = .privateKeyJWT
    settings.scopes = ["openid", "email", "name"]
    settings.callerParameters = ["locale"]
    settings.nonce = .required
    settings.kitsHashNonces = true
    settings.usesProofKey = false
    settings.freshLogin = .none
    settings.profileUse = .never
    settings.takesTextAsVerified = true
    settings.hasTransferSubjects = true
    settings.emailTrust = .asserted(.verified, authoritativeDomains: [])
    return settings
  }

  static func check(_ settings: ProviderSettings) throws(ProviderSettingsError) {
    try settings.checkSignedTokens()
    try settings.require(
      settings.client.authentication == .privateKeyJWT, "client_authentication",
      "cannot be set: Apple has its own method")
    guard settings.client.isConfigured else { return }
    try settings.require(!settings.client.teamID.isEmpty, "team_id", "must be set together with private_key_file")
    try settings.require(!settings.client.keyID.isEmpty, "key_id", "must be set together with private_key_file")
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

  /// Adds the name that the kit passed next to the ID token, if the caller sent it.
  func verifyNow(_ presented: PresentedToken, at now: Timestamp) throws(ProviderRefusal) -> VerifiedToken? {
    guard var verified = try client.verifyNow(presented, at: now) else { return nil }
    if verified.assertion.displayName.isEmpty, !presented.userJSON.isEmpty {
      verified.assertion.displayName = AppleProvider.name(in: presented.userJSON)
    }
    return verified
  }

  /// Adds the user's name. Apple sends it only at the first consent, in the form and unsigned, so it is for display
  /// only.
  func finish(_ callback: Callback, of flow: FlowState, at now: Timestamp) async throws -> VerifiedToken {
    var verified = try await client.finish(callback, of: flow, at: now)
    if verified.assertion.displayName.isEmpty, let user = callback["user"] {
      verified.assertion.displayName = AppleProvider.name(in: user)
    }
    return verified
  }

  static func name(in user: String) -> String {
    guard let name = (try? JSONValue.parse(Array(user.utf8), byteCountMax: userBytesMax))?["name"] else { return "" }
    // The form of a redirect, and the components of the native kit.
    let (first, last) = (name["firstName"] ?? name["givenName"], name["lastName"] ?? name["familyName"])
    let parts = [first, last].map(ProfileClaims.text).filter { !$0.isEmpty }
    return ProfileClaims.text(.string(parts.joined(separator: " ")))
  }
}
