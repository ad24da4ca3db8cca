// How a sign-in, a link or a refresh ends. The meaning of each field stands in proto/latchkey/v1/types.proto.

internal import Messages

package struct Session: Sendable, Equatable {
  package var idToken: String
  package var idTokenExpiresAtMillis: Int64?
  package var refreshToken: String
  package var account: Account?
  package var isNewAccount: Bool
  package var additionalUserInfo: AdditionalUserInfo?
  package var providerCredential: ProviderCredential?
  package var revokedProviderIDs: [String]
  package var sessionID: String
  package var refreshTokenExpiresAtMillis: Int64?

  package init(
    idToken: String = "", idTokenExpiresAtMillis: Int64? = nil, refreshToken: String = "", account: Account? = nil,
    isNewAccount: Bool = false, additionalUserInfo: AdditionalUserInfo? = nil,
    providerCredential: ProviderCredential? = nil, revokedProviderIDs: [String] = [], sessionID: String = "",
    refreshTokenExpiresAtMillis: Int64? = nil
  ) {
    self.idToken = idToken
    self.idTokenExpiresAtMillis = idTokenExpiresAtMillis
    self.refreshToken = refreshToken
    self.account = account
    self.isNewAccount = isNewAccount
    self.additionalUserInfo = additionalUserInfo
    self.providerCredential = providerCredential
    self.revokedProviderIDs = revokedProviderIDs
    self.sessionID = sessionID
    self.refreshTokenExpiresAtMillis = refreshTokenExpiresAtMillis
  }
}

extension Session: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__Session> { unsafe latchkey__v1__session__init }

  init(_ form: UnsafePointer<Latchkey__V1__Session>) {
    unsafe self.init(
      idToken: text(form.pointee.id_token), idTokenExpiresAtMillis: millis(form.pointee.id_token_expires_at),
      refreshToken: text(form.pointee.refresh_token), account: one(form.pointee.account),
      isNewAccount: form.pointee.is_new_account != 0, additionalUserInfo: one(form.pointee.additional_user_info),
      providerCredential: one(form.pointee.provider_credential),
      revokedProviderIDs: texts(form.pointee.n_revoked_provider_ids, form.pointee.revoked_provider_ids),
      sessionID: text(form.pointee.session_id),
      refreshTokenExpiresAtMillis: millis(form.pointee.refresh_token_expires_at))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__Session>, _ arena: Arena) {
    unsafe form.pointee.id_token = arena.text(idToken)
    unsafe form.pointee.id_token_expires_at = arena.timestamp(idTokenExpiresAtMillis)
    unsafe form.pointee.refresh_token = arena.text(refreshToken)
    unsafe form.pointee.account = arena.one(account)
    unsafe form.pointee.is_new_account = isNewAccount ? 1 : 0
    unsafe form.pointee.additional_user_info = arena.one(additionalUserInfo)
    unsafe form.pointee.provider_credential = arena.one(providerCredential)
    unsafe (form.pointee.n_revoked_provider_ids, form.pointee.revoked_provider_ids) = arena.texts(revokedProviderIDs)
    unsafe form.pointee.session_id = arena.text(sessionID)
    unsafe form.pointee.refresh_token_expires_at = arena.timestamp(refreshTokenExpiresAtMillis)
  }
}

package struct AdditionalUserInfo: Sendable, Equatable {
  package var providerID: String
  package var username: String
  package var profileJSON: String

  package init(providerID: String = "", username: String = "", profileJSON: String = "") {
    self.providerID = providerID
    self.username = username
    self.profileJSON = profileJSON
  }
}

extension AdditionalUserInfo: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__AdditionalUserInfo> { unsafe latchkey__v1__additional_user_info__init }

  init(_ form: UnsafePointer<Latchkey__V1__AdditionalUserInfo>) {
    unsafe self.init(
      providerID: text(form.pointee.provider_id), username: text(form.pointee.username),
      profileJSON: text(form.pointee.profile_json))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__AdditionalUserInfo>, _ arena: Arena) {
    unsafe form.pointee.provider_id = arena.text(providerID)
    unsafe form.pointee.username = arena.text(username)
    unsafe form.pointee.profile_json = arena.text(profileJSON)
  }
}

package struct ProviderCredential: Sendable, Equatable {
  package var providerID: String
  package var accessToken: String
  package var idToken: String
  package var secret: String
  package var refreshToken: String
  package var expiresInMillis: Int64?
  package var grantedScopes: [String]

  package init(
    providerID: String = "", accessToken: String = "", idToken: String = "", secret: String = "",
    refreshToken: String = "", expiresInMillis: Int64? = nil, grantedScopes: [String] = []
  ) {
    self.providerID = providerID
    self.accessToken = accessToken
    self.idToken = idToken
    self.secret = secret
    self.refreshToken = refreshToken
    self.expiresInMillis = expiresInMillis
    self.grantedScopes = grantedScopes
  }
}

extension ProviderCredential: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ProviderCredential> { unsafe latchkey__v1__provider_credential__init }

  init(_ form: UnsafePointer<Latchkey__V1__ProviderCredential>) {
    unsafe self.init(
      providerID: text(form.pointee.provider_id), accessToken: text(form.pointee.access_token),
      idToken: text(form.pointee.id_token), secret: text(form.pointee.secret),
      refreshToken: text(form.pointee.refresh_token), expiresInMillis: millis(form.pointee.expires_in),
      grantedScopes: texts(form.pointee.n_granted_scopes, form.pointee.granted_scopes))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ProviderCredential>, _ arena: Arena) {
    unsafe form.pointee.provider_id = arena.text(providerID)
    unsafe form.pointee.access_token = arena.text(accessToken)
    unsafe form.pointee.id_token = arena.text(idToken)
    unsafe form.pointee.secret = arena.text(secret)
    unsafe form.pointee.refresh_token = arena.text(refreshToken)
    unsafe form.pointee.expires_in = arena.duration(expiresInMillis)
    unsafe (form.pointee.n_granted_scopes, form.pointee.granted_scopes) = arena.texts(grantedScopes)
  }
}

package struct AccountExists: Sendable, Equatable {
  package var email: String
  package var providerIDs: [String]
  package var signInMethods: [String]
  package var pendingToken: String
  package var pendingExpiresAtMillis: Int64?
  package var providerCredential: ProviderCredential?
  package var additionalUserInfo: AdditionalUserInfo?
  package var reason: String
  package var canClaimAddress: Bool

  package init(
    email: String = "", providerIDs: [String] = [], signInMethods: [String] = [], pendingToken: String = "",
    pendingExpiresAtMillis: Int64? = nil, providerCredential: ProviderCredential? = nil,
    additionalUserInfo: AdditionalUserInfo? = nil, reason: String = "", canClaimAddress: Bool = false
  ) {
    self.email = email
    self.providerIDs = providerIDs
    self.signInMethods = signInMethods
    self.pendingToken = pendingToken
    self.pendingExpiresAtMillis = pendingExpiresAtMillis
    self.providerCredential = providerCredential
    self.additionalUserInfo = additionalUserInfo
    self.reason = reason
    self.canClaimAddress = canClaimAddress
  }
}

extension AccountExists: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__AccountExists> { unsafe latchkey__v1__account_exists__init }

  init(_ form: UnsafePointer<Latchkey__V1__AccountExists>) {
    unsafe self.init(
      email: text(form.pointee.email), providerIDs: texts(form.pointee.n_provider_ids, form.pointee.provider_ids),
      signInMethods: texts(form.pointee.n_sign_in_methods, form.pointee.sign_in_methods),
      pendingToken: text(form.pointee.pending_token), pendingExpiresAtMillis: millis(form.pointee.pending_expires_at),
      providerCredential: one(form.pointee.provider_credential),
      additionalUserInfo: one(form.pointee.additional_user_info), reason: text(form.pointee.reason),
      canClaimAddress: form.pointee.can_claim_address != 0)
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__AccountExists>, _ arena: Arena) {
    unsafe form.pointee.email = arena.text(email)
    unsafe (form.pointee.n_provider_ids, form.pointee.provider_ids) = arena.texts(providerIDs)
    unsafe (form.pointee.n_sign_in_methods, form.pointee.sign_in_methods) = arena.texts(signInMethods)
    unsafe form.pointee.pending_token = arena.text(pendingToken)
    unsafe form.pointee.pending_expires_at = arena.timestamp(pendingExpiresAtMillis)
    unsafe form.pointee.provider_credential = arena.one(providerCredential)
    unsafe form.pointee.additional_user_info = arena.one(additionalUserInfo)
    unsafe form.pointee.reason = arena.text(reason)
    unsafe form.pointee.can_claim_address = canClaimAddress ? 1 : 0
  }
}

package struct CredentialInUse: Sendable, Equatable {
  package var email: String
  package var pendingToken: String
  package var pendingExpiresAtMillis: Int64?
  package var providerCredential: ProviderCredential?

  package init(
    email: String = "", pendingToken: String = "", pendingExpiresAtMillis: Int64? = nil,
    providerCredential: ProviderCredential? = nil
  ) {
    self.email = email
    self.pendingToken = pendingToken
    self.pendingExpiresAtMillis = pendingExpiresAtMillis
    self.providerCredential = providerCredential
  }
}

extension CredentialInUse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__CredentialInUse> { unsafe latchkey__v1__credential_in_use__init }

  init(_ form: UnsafePointer<Latchkey__V1__CredentialInUse>) {
    unsafe self.init(
      email: text(form.pointee.email), pendingToken: text(form.pointee.pending_token),
      pendingExpiresAtMillis: millis(form.pointee.pending_expires_at),
      providerCredential: one(form.pointee.provider_credential))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__CredentialInUse>, _ arena: Arena) {
    unsafe form.pointee.email = arena.text(email)
    unsafe form.pointee.pending_token = arena.text(pendingToken)
    unsafe form.pointee.pending_expires_at = arena.timestamp(pendingExpiresAtMillis)
    unsafe form.pointee.provider_credential = arena.one(providerCredential)
  }
}

package struct SecondFactorRequired: Sendable, Equatable {
  package var pendingToken: String
  package var hints: [SecondFactorHint]
  package var expiresAtMillis: Int64?
  package var providerCredential: ProviderCredential?
  package var additionalUserInfo: AdditionalUserInfo?

  package init(
    pendingToken: String = "", hints: [SecondFactorHint] = [], expiresAtMillis: Int64? = nil,
    providerCredential: ProviderCredential? = nil, additionalUserInfo: AdditionalUserInfo? = nil
  ) {
    self.pendingToken = pendingToken
    self.hints = hints
    self.expiresAtMillis = expiresAtMillis
    self.providerCredential = providerCredential
    self.additionalUserInfo = additionalUserInfo
  }
}

extension SecondFactorRequired: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__SecondFactorRequired> { unsafe latchkey__v1__second_factor_required__init }

  init(_ form: UnsafePointer<Latchkey__V1__SecondFactorRequired>) {
    unsafe self.init(
      pendingToken: text(form.pointee.pending_token), hints: list(form.pointee.n_hints, form.pointee.hints),
      expiresAtMillis: millis(form.pointee.expires_at), providerCredential: one(form.pointee.provider_credential),
      additionalUserInfo: one(form.pointee.additional_user_info))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__SecondFactorRequired>, _ arena: Arena) {
    unsafe form.pointee.pending_token = arena.text(pendingToken)
    unsafe (form.pointee.n_hints, form.pointee.hints) = arena.list(hints)
    unsafe form.pointee.expires_at = arena.timestamp(expiresAtMillis)
    unsafe form.pointee.provider_credential = arena.one(providerCredential)
    unsafe form.pointee.additional_user_info = arena.one(additionalUserInfo)
  }
}
