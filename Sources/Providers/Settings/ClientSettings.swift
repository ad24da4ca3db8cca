package import Crypto

/// The location of one of our secrets. The configuration file contains the location and never the secret.
package enum SecretSource: Hashable, Sendable {
  case file(String)
  case environment(String)
}

/// Our client at a provider, and its authentication.
package struct ClientSettings: Sendable {
  package var authentication = ClientAuthentication.basic
  /// The configuration sets the method, so the discovery document does not choose another.
  package var authenticationIsSet = false
  package var secretSource: SecretSource?
  /// PKCS#8, PEM.
  package var privateKeySource: SecretSource?
  /// Read from the sources above.
  package var secret: Secret?
  package var privateKey: PrivateKey?
  /// The id by which the provider finds the public half.
  package var keyID = ""
  /// Apple: the developer's team.
  package var teamID = ""

  package init() {}

  /// Whether flows are configured. Verifying an ID token needs none of this.
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
  /// Returns the proof for an adapter. The sources have been read by then.
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
