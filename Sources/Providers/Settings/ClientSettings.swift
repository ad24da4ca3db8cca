package import Crypto

/// Where a secret of ours is kept. The configuration file names the place and never holds it.
package enum SecretSource: Hashable, Sendable {
  case file(String)
  case environment(String)
}

/// What we are at a provider, and how we show it.
package struct ClientSettings: Sendable {
  package var authentication = ClientAuthentication.basic
  /// The configuration names the method, so that the discovery document does not choose another.
  package var authenticationIsSet = false
  package var secretSource: SecretSource?
  /// PKCS#8, PEM.
  package var privateKeySource: SecretSource?
  /// What was read from there.
  package var secret: Secret?
  package var privateKey: PrivateKey?
  /// By which the provider finds the public half.
  package var keyID = ""
  /// Apple: the developer's team.
  package var teamID = ""

  package init() {}

  /// Whether flows can be made: verifying an ID token takes none of this.
  package var isConfigured: Bool {
    switch authentication {
    case .basic, .post: secret != nil || secretSource != nil
    case .privateKeyJWT: privateKey != nil || privateKeySource != nil
    case .none: true
    }
  }

  func check(_ settings: ProviderSettings) throws(ProviderSettingsError) {
    let hasSecret = secret != nil || secretSource != nil
    let hasKey = privateKey != nil || privateKeySource != nil
    switch authentication {
    case .basic, .post:
      try settings.require(!hasKey, "private_key_file", "is not used with \(authentication.rawValue)")
    case .privateKeyJWT:
      try settings.require(!hasSecret, "client_secret_file", "is not used with private_key_jwt")
    case .none:
      try settings.require(!hasSecret, "client_secret_file", "is not used without client authentication")
      try settings.require(settings.usesProofKey, "proof_key", "must be true without client authentication")
    }
  }
}

extension ProviderSettings {
  /// For an adapter that is made: the sources have been read by then.
  func clientProof() throws(ProviderSettingsError) -> ClientProof {
    switch client.authentication {
    case .basic: return .basic(try loadedSecret())
    case .post: return .post(try loadedSecret())
    case .privateKeyJWT: return .assertion(try loadedKey())
    case .none: return .none
    }
  }

  func loadedSecret() throws(ProviderSettingsError) -> Secret {
    guard let secret = client.secret, secret.count > 0 else { throw wrong("client_secret_file", "was not read") }
    return secret
  }

  func loadedKey() throws(ProviderSettingsError) -> AssertionKey {
    guard let key = client.privateKey else { throw wrong("private_key_file", "was not read") }
    return AssertionKey(key: key, keyID: client.keyID)
  }
}
