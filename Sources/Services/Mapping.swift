internal import Encodings
internal import Identity
internal import Store
internal import API

// Conversion of domain results to messages.

extension API.Account {
  init(_ state: AccountState) {
    let account = state.account
    self.init(
      accountID: account.id, email: account.email ?? "", emailVerified: account.emailVerified,
      phoneNumber: account.phoneNumber ?? "", displayName: account.displayName, photoURL: account.photoURL,
      anonymous: account.anonymous, disabled: account.disabled, createdAtMillis: account.createdAt.millis,
      lastSignInAtMillis: account.lastSignInAt?.millis, providers: API.Account.providers(state),
      secondFactors: state.factorsToOffer.map(SecondFactorHint.init), customClaimsJSON: account.customClaimsJSON)
  }

  /// - Parameter includingRecords: with what an import needs to restore passkeys.
  static func providers(_ state: AccountState, includingRecords: Bool = false) -> [LinkedProvider] {
    let account = state.account
    var providers: [LinkedProvider] = []
    if account.passwordHash != nil {
      providers.append(
        LinkedProvider(
          providerID: "password", subject: account.email ?? "", email: account.email ?? "",
          linkedAtMillis: account.passwordSetAt?.millis))
    }
    if account.emailLink, account.emailVerified, let email = account.email {
      providers.append(LinkedProvider(providerID: SignInMethods.emailLink, subject: email, email: email))
    }
    if let number = account.phoneNumber {
      providers.append(
        LinkedProvider(
          providerID: "phone", subject: number, phoneNumber: number, linkedAtMillis: account.phoneNumberSetAt?.millis))
    }
    return providers + state.identities.map { identity in
      LinkedProvider(
        providerID: identity.key.providerID, subject: identity.key.subject, email: identity.email ?? "",
        displayName: identity.displayName, photoURL: identity.photoURL, linkedAtMillis: identity.linkedAt.millis,
        passkeyRecord: includingRecords ? identity.passkey.map { Base64URL.encode($0) } ?? "" : "")
    }
  }
}

extension SecondFactorHint {
  init(_ factor: FactorRecord) {
    self.init(
      factorID: factor.id, kind: API.FactorKind(factor.kind), displayName: factor.displayName,
      maskedPhoneNumber: factor.phoneNumber.map(SecondFactorHint.masked) ?? "",
      enrolledAtMillis: factor.enrolledAt.millis)
  }

  /// Masks a phone number: its owner can recognise it, but other users cannot learn it.
  static func masked(_ number: String) -> String { OutgoingMessage.Recipient.masked(number) }
}

extension API.Session {
  init(_ grant: SessionGrant) {
    self.init(
      idToken: grant.idToken, idTokenExpiresAtMillis: grant.idTokenExpiresAt.millis,
      refreshToken: grant.refreshToken, account: API.Account(grant.account), isNewAccount: grant.isNewAccount,
      additionalUserInfo: grant.userInfo.map(AdditionalUserInfo.init),
      providerCredential: grant.tokens.map(ProviderCredential.init),
      revokedProviderIDs: grant.revokedProviderIDs, sessionID: grant.sessionID,
      refreshTokenExpiresAtMillis: grant.refreshTokenExpiresAt.millis,
      isRestricted: grant.secondFactorDuty.isOverdue, secondFactorDueAtMillis: grant.secondFactorDuty.dueAt?.millis)
  }
}

extension ProviderCredential {
  init(_ tokens: ProviderTokens) {
    self.init(
      providerID: tokens.providerID, accessToken: tokens.accessToken, idToken: tokens.idToken, secret: tokens.secret,
      refreshToken: tokens.refreshToken, expiresInMillis: tokens.expiresInMillis, grantedScopes: tokens.grantedScopes)
  }
}

extension AdditionalUserInfo {
  init(_ info: UserInfo) {
    self.init(providerID: info.providerID, username: info.username, profileJSON: info.profileJSON)
  }
}

extension API.AccountExists {
  init(_ conflict: Identity.AccountExists) {
    self.init(
      email: conflict.email, providerIDs: conflict.providerIDs, signInMethods: conflict.methods,
      pendingToken: conflict.handle, pendingExpiresAtMillis: conflict.expiresAt.millis,
      providerCredential: conflict.tokens.map(ProviderCredential.init),
      additionalUserInfo: conflict.userInfo.map(AdditionalUserInfo.init),
      reason: ConflictReason(conflict.reason), canClaimAddress: conflict.canClaimAddress)
  }
}

extension API.CredentialInUse {
  init(_ conflict: Identity.CredentialInUse) {
    self.init(
      email: conflict.email ?? "", pendingToken: conflict.handle, pendingExpiresAtMillis: conflict.expiresAt.millis,
      providerCredential: conflict.tokens.map(ProviderCredential.init))
  }
}

extension API.SecondFactorRequired {
  init(_ required: Identity.SecondFactorRequired) {
    self.init(
      pendingToken: required.handle, hints: required.factors.map(SecondFactorHint.init),
      expiresAtMillis: required.expiresAt.millis, providerCredential: required.tokens.map(ProviderCredential.init),
      additionalUserInfo: required.userInfo.map(AdditionalUserInfo.init))
  }
}

extension API.FetchProvidersResponse {
  init(_ answer: ProvidersAnswer) {
    self.init(
      registered: answer.registered, providerIDs: answer.providerIDs, signInMethods: answer.methods,
      pending: answer.pending.map { held in
        PendingCredential(
          purpose: PendingCredentialPurpose(held.purpose), providerID: held.providerID, email: held.email ?? "",
          username: held.username, displayName: held.displayName, expiresAtMillis: held.expiresAt.millis)
      },
      methodsMailed: answer.methodsMailed)
  }
}

extension SessionInfo {
  init(_ listed: ListedSession) {
    let session = listed.session
    self.init(
      sessionID: session.id, signInProvider: session.signInProviderID, signedInAtMillis: session.authTime.millis,
      lastUsedAtMillis: session.lastUsedAt.millis,
      client: ClientContext(
        ipAddress: session.ipAddress, userAgent: session.userAgent, deviceID: session.deviceID),
      current: listed.isCurrent)
  }
}
