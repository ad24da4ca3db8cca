internal import Encodings
internal import Tokens

/// A credential that an authenticator is asked for, or must not create again (WebAuthn 5.8.3).
package struct CredentialDescriptor: Hashable, Sendable {
  package let id: [UInt8]
  /// As the client reported them at the registration. Clients then offer only the ways that can work.
  package let transports: [String]

  package init(id: [UInt8], transports: [String]) {
    self.id = id
    self.transports = transports
  }
}

/// What a client needs to create a passkey.
package struct CreationRequest: Sendable {
  package let challenge: [UInt8]
  /// Random, 1 to 64 bytes. The authenticator returns it at sign-in, and replaces a passkey with the same handle.
  package let userHandle: [UInt8]
  package let userName: String
  package let displayName: String
  /// The passkeys that the account has. Their authenticators refuse to create another one.
  package let excluded: [CredentialDescriptor]
  package let residentKey: ResidentKey
  package let timeoutMillis: Int64
  package let relyingParty: RelyingParty

  package init(
    challenge: [UInt8], userHandle: [UInt8], userName: String, displayName: String, excluded: [CredentialDescriptor],
    residentKey: ResidentKey = .preferred, timeoutMillis: Int64, at relyingParty: RelyingParty
  ) {
    self.challenge = challenge
    self.userHandle = userHandle
    self.userName = userName
    self.displayName = displayName
    self.excluded = excluded
    self.residentKey = residentKey
    self.timeoutMillis = timeoutMillis
    self.relyingParty = relyingParty
  }

  /// `PublicKeyCredentialCreationOptionsJSON` (WebAuthn 5.1.8), for `PublicKeyCredential.parseCreationOptionsFromJSON`.
  package func json() -> String {
    var json = JSONWriter(reservingBytes: 1024)
    json.open(.object)
    json.name("rp")
    json.open(.object)
    json.member("name", relyingParty.name)
    json.member("id", relyingParty.id)
    json.close(.object)
    json.name("user")
    json.open(.object)
    json.member("id", Base64URL.encode(userHandle))
    json.member("name", userName)
    json.member("displayName", displayName)
    json.close(.object)
    json.member("challenge", Base64URL.encode(challenge))
    json.name("pubKeyCredParams")
    json.open(.array)
    for algorithm in relyingParty.algorithms {
      json.open(.object)
      json.member("type", CredentialType.publicKey)
      json.member("alg", Int64(algorithm.rawValue))
      json.close(.object)
    }
    json.close(.array)
    json.member("timeout", timeoutMillis)
    json.descriptors("excludeCredentials", excluded)
    json.name("authenticatorSelection")
    json.open(.object)
    json.member("residentKey", residentKey.rawValue)
    // Clients of WebAuthn Level 1 know only this member (5.4.4).
    json.name("requireResidentKey")
    json.bool(residentKey == .required)
    json.member("userVerification", relyingParty.userVerification.rawValue)
    json.close(.object)
    json.member("attestation", relyingParty.attestation == .none ? "none" : "direct")
    json.name("extensions")
    json.open(.object)
    json.name("credProps")
    json.bool(true)
    json.close(.object)
    json.close(.object)
    return json.text
  }
}

/// What a client needs to use a passkey.
package struct RequestOptions: Sendable {
  package let challenge: [UInt8]
  /// The passkeys that may answer. Without any, the user chooses among those that the authenticator can discover.
  package let allowed: [CredentialDescriptor]
  package let timeoutMillis: Int64
  package let relyingParty: RelyingParty

  package init(
    challenge: [UInt8], allowed: [CredentialDescriptor], timeoutMillis: Int64, at relyingParty: RelyingParty
  ) {
    self.challenge = challenge
    self.allowed = allowed
    self.timeoutMillis = timeoutMillis
    self.relyingParty = relyingParty
  }

  /// `PublicKeyCredentialRequestOptionsJSON` (WebAuthn 5.1.9), for `PublicKeyCredential.parseRequestOptionsFromJSON`.
  package func json() -> String {
    var json = JSONWriter(reservingBytes: 512)
    json.open(.object)
    json.member("challenge", Base64URL.encode(challenge))
    json.member("timeout", timeoutMillis)
    json.member("rpId", relyingParty.id)
    json.descriptors("allowCredentials", allowed)
    json.member("userVerification", relyingParty.userVerification.rawValue)
    json.close(.object)
    return json.text
  }
}

enum CredentialType {
  static let publicKey = "public-key"
}

extension JSONWriter {
  fileprivate mutating func descriptors(_ name: String, _ descriptors: [CredentialDescriptor]) {
    self.name(name)
    open(.array)
    for descriptor in descriptors {
      open(.object)
      member("type", CredentialType.publicKey)
      member("id", Base64URL.encode(descriptor.id))
      if !descriptor.transports.isEmpty { member("transports", descriptor.transports) }
      close(.object)
    }
    close(.array)
  }
}
