// Results of the use cases. Services converts them to wire messages.

package import Store

/// An opened or refreshed session with its tokens.
package struct SessionGrant: Hashable, Sendable {
  package var idToken: String
  package var idTokenExpiresAt: Timestamp
  package var refreshToken: String
  package var refreshTokenExpiresAt: Timestamp
  package var sessionID: String
  package var account: AccountState
  package var isNewAccount = false
  package var userInfo: UserInfo?
  /// Tokens of the provider whose credential the call presented.
  package var tokens: ProviderTokens?
  /// Unverified sign-in methods that this call revoked.
  package var revokedProviderIDs: [String] = []
  package var secondFactorDuty: SecondFactorDuty

  package init(
    idToken: String, idTokenExpiresAt: Timestamp, refreshToken: String, refreshTokenExpiresAt: Timestamp,
    sessionID: String, account: AccountState, secondFactorDuty: SecondFactorDuty = .none
  ) {
    self.idToken = idToken
    self.idTokenExpiresAt = idTokenExpiresAt
    self.refreshToken = refreshToken
    self.refreshTokenExpiresAt = refreshTokenExpiresAt
    self.sessionID = sessionID
    self.account = account
    self.secondFactorDuty = secondFactorDuty
  }
}

/// The user's profile at the provider, for a provider credential.
package struct UserInfo: Hashable, Sendable {
  package var providerID: String
  package var username: String
  package var profileJSON: String

  package init(providerID: String, username: String, profileJSON: String) {
    self.providerID = providerID
    self.username = username
    self.profileJSON = profileJSON
  }
}

package struct AccountExists: Hashable, Sendable {
  package enum Reason: String, Sendable, CaseIterable {
    case none = ""
    case subjectChanged = "SUBJECT_CHANGED"
    case askAdministrator = "ASK_ADMINISTRATOR"
  }

  package var email: String
  package var providerIDs: [String]
  package var methods: [String]
  package var handle: String
  package var expiresAt: Timestamp
  package var userInfo: UserInfo?
  package var tokens: ProviderTokens?
  package var reason: Reason
  package var canClaimAddress: Bool

  package init(
    email: String, providerIDs: [String], methods: [String], handle: String, expiresAt: Timestamp,
    userInfo: UserInfo? = nil, tokens: ProviderTokens? = nil, reason: Reason = .none, canClaimAddress: Bool = false
  ) {
    self.email = email
    self.providerIDs = providerIDs
    self.methods = methods
    self.handle = handle
    self.expiresAt = expiresAt
    self.userInfo = userInfo
    self.tokens = tokens
    self.reason = reason
    self.canClaimAddress = canClaimAddress
  }
}

package struct CredentialInUse: Hashable, Sendable {
  package var email: String?
  package var handle: String
  package var expiresAt: Timestamp
  package var tokens: ProviderTokens?

  package init(email: String?, handle: String, expiresAt: Timestamp, tokens: ProviderTokens? = nil) {
    self.email = email
    self.handle = handle
    self.expiresAt = expiresAt
    self.tokens = tokens
  }
}

package struct SecondFactorRequired: Hashable, Sendable {
  package var handle: String
  package var factors: [FactorRecord]
  package var expiresAt: Timestamp
  package var userInfo: UserInfo?
  package var tokens: ProviderTokens?

  package init(
    handle: String, factors: [FactorRecord], expiresAt: Timestamp, userInfo: UserInfo? = nil,
    tokens: ProviderTokens? = nil
  ) {
    self.handle = handle
    self.factors = factors
    self.expiresAt = expiresAt
    self.userInfo = userInfo
    self.tokens = tokens
  }
}

package indirect enum SignInAnswer: Hashable, Sendable {
  case session(SessionGrant)
  case accountExists(AccountExists)
  case secondFactorRequired(SecondFactorRequired)
}

package enum LinkAnswer: Hashable, Sendable {
  case session(SessionGrant, alreadyLinked: Bool)
  case credentialInUse(CredentialInUse)
  case secondFactorRequired(SecondFactorRequired)
}

package enum ReauthenticateAnswer: Hashable, Sendable {
  case session(SessionGrant)
  case secondFactorRequired(SecondFactorRequired)
}

package struct ProvidersAnswer: Hashable, Sendable {
  package var registered = false
  package var providerIDs: [String] = []
  package var methods: [String] = []
  package var pending: PendingCredentialInfo?
  /// Whether the methods were emailed to the account's user instead. The pending token then proves too little to reveal
  /// them to its bearer.
  package var methodsMailed = false

  package init(registered: Bool = false) { self.registered = registered }
}

/// Contents of a pending credential, which show the user what will be linked.
package struct PendingCredentialInfo: Hashable, Sendable {
  package var purpose: PendingPurpose
  package var providerID: String
  package var email: String?
  package var username: String
  package var displayName: String
  package var expiresAt: Timestamp

  package init(
    purpose: PendingPurpose, providerID: String, email: String?, username: String, displayName: String,
    expiresAt: Timestamp
  ) {
    self.purpose = purpose
    self.providerID = providerID
    self.email = email
    self.username = username
    self.displayName = displayName
    self.expiresAt = expiresAt
  }
}
