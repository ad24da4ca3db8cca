package import Store

/// A token that a provider issued to our client, and that its holder wants to end.
package struct RevocableToken: Hashable, Sendable {
  /// The raw values are those of `token_type_hint` (RFC 7009, 2.1), except for the code.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    case accessToken = "access_token"
    case refreshToken = "refresh_token"
    /// A code that was not redeemed yet. The provider issues tokens for it, which are then revoked.
    case authorizationCode = "authorization_code"
  }

  package var text: String
  package var kind: Kind
  /// The client that the token was issued to. Empty: the first of `client_ids`.
  package var clientID: String
  /// The redirect URI of a code. Empty for the code of a native kit.
  package var redirectURI: String

  package init(_ text: String, _ kind: Kind, clientID: String = "", redirectURI: String = "") {
    self.text = text
    self.kind = kind
    self.clientID = clientID
    self.redirectURI = redirectURI
  }

  /// Checks what can be checked without a request.
  func check(for revoker: any RevokesTokens) throws(ProviderRefusal) {
    let kinds = revoker.revocableKinds
    guard kinds.contains(kind) else {
      let names = kinds.map(\.rawValue).sorted().joined(separator: ", ")
      throw .invalidParameter(name: "token.kind", hint: "\(revoker.id) revokes only: \(names).")
    }
    guard TokenAnswer.isToken(text, bytesMax: TokenAnswer.bodyBytesMax) else {
      throw .invalidParameter(name: "token.token", hint: "Send the token as the provider issued it, in visible ASCII.")
    }
  }
}

/// A provider that revokes its own tokens.
package protocol RevokesTokens: IdentityProvider {
  var revocableKinds: Set<RevocableToken.Kind> { get }
  /// Throws `ProviderRefusal`. A token that is invalid already is no failure (RFC 7009, 2.2).
  func revoke(_ token: RevocableToken, at now: Timestamp) async throws
}

extension RevokesTokens {
  package var revocableKinds: Set<RevocableToken.Kind> { [.accessToken, .refreshToken] }
}
