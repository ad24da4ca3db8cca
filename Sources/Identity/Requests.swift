// What the use cases are asked, after Services has checked the shape of the request.

/// What a caller can present. Addresses are normalised, passwords in NFKC, every text within its limit.
package enum Credential: Hashable, Sendable {
  case password(email: String, password: String)
  case providerToken(ProviderToken)
  case customToken(String)
  case anonymous
  /// The handle of a held credential, as the client got it.
  case pendingToken(String)
}

package struct SignInRequest: Hashable, Sendable {
  package var credential: Credential
  /// From an earlier AccountExists; empty: none.
  package var pendingToken: String
  package var existingOnly: Bool
  package var claimAddress: Bool

  package init(
    credential: Credential, pendingToken: String = "", existingOnly: Bool = false, claimAddress: Bool = false
  ) {
    self.credential = credential
    self.pendingToken = pendingToken
    self.existingOnly = existingOnly
    self.claimAddress = claimAddress
  }
}

package struct LinkRequest: Hashable, Sendable {
  package var idToken: String
  package var credential: Credential

  package init(idToken: String, credential: Credential) {
    self.idToken = idToken
    self.credential = credential
  }
}

package struct UnlinkRequest: Hashable, Sendable {
  package var idToken: String
  package var providerID: String

  package init(idToken: String, providerID: String) {
    self.idToken = idToken
    self.providerID = providerID
  }
}

package struct ReauthenticateRequest: Hashable, Sendable {
  package var idToken: String
  package var credential: Credential

  package init(idToken: String, credential: Credential) {
    self.idToken = idToken
    self.credential = credential
  }
}

package enum FetchProvidersRequest: Hashable, Sendable {
  case email(String)
  case pendingToken(String)
}
