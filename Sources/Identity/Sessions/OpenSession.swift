package import Store

/// How a session began. Its tokens carry this in `sign_in_provider` and `amr` (RFC 8176 names, where one exists).
package struct FirstFactor: Hashable, Sendable {
  package var signInProviderID: String
  package var methods: [String]
  /// Claims that a custom token or a hook adds for this session to those of the account: a JSON object, or empty.
  package var claimsJSON: String

  package init(signInProviderID: String, methods: [String], claimsJSON: String = "") {
    self.signInProviderID = signInProviderID
    self.methods = methods
    self.claimsJSON = claimsJSON
  }

  package static let password = FirstFactor(signInProviderID: SignInMethods.password, methods: ["pwd"])
  package static let anonymous = FirstFactor(signInProviderID: "anonymous", methods: ["anon"])
  package static let customToken = FirstFactor(signInProviderID: "custom", methods: ["custom"])
  package static func customToken(_ token: CustomToken) -> FirstFactor {
    FirstFactor(signInProviderID: "custom", methods: ["custom"], claimsJSON: token.claimsJSON)
  }
  package static let phone = FirstFactor(signInProviderID: SignInMethods.phone, methods: ["sms"])
  package static let emailLink = FirstFactor(signInProviderID: SignInMethods.emailLink, methods: ["email"])
  package static func provider(_ providerID: String) -> FirstFactor {
    switch providerID {
    case SignInMethods.password: .password
    case SignInMethods.phone: .phone
    case SignInMethods.emailLink: .emailLink
    default: FirstFactor(signInProviderID: providerID, methods: [federated])
    }
  }

  /// - Parameter backupEligible: whether the key can be on several devices, so that no hardware protects it.
  static func passkey(backupEligible: Bool, userVerified: Bool) -> FirstFactor {
    FirstFactor(
      signInProviderID: SignInMethods.passkey,
      methods: [backupEligible ? "swk" : "hwk"] + (userVerified ? userVerification : []))
  }

  /// What a PIN or a biometric that an authenticator checked adds.
  fileprivate static let userVerification = ["user", "mfa"]
  fileprivate static let federated = "fed"
  fileprivate static let fresh = "fresh"

  var isFederated: Bool { methods.contains(FirstFactor.federated) }

  /// Whether an authenticator verified its user, so that the passkey passes both factors (P11).
  var verifiesUser: Bool {
    signInProviderID == SignInMethods.passkey && FirstFactor.userVerification.allSatisfy(methods.contains)
  }
}

extension SessionRecord {
  /// What the session began with. `signInProviderID` is what was linked last.
  ///
  /// Sessions that are older than `beganWith` are identified by their first method.
  var beginning: FirstFactor {
    let known: [FirstFactor] = [.password, .phone, .emailLink, .customToken, .anonymous]
    if let first = known.first(where: { $0.methods.first == methods.first }) { return first }
    if beganWith == SignInMethods.passkey {
      return .passkey(
        backupEligible: methods.first == "swk",
        userVerified: FirstFactor.userVerification.allSatisfy(methods.contains))
    }
    let isKept = !known.contains { $0.signInProviderID == beganWith }
    return FirstFactor(
      signInProviderID: isKept ? beganWith : FirstFactor.federated, methods: [FirstFactor.federated])
  }

  /// False if a provider alone vouches for the user, perhaps only by an old cookie.
  var loginIsConfirmed: Bool { methods != [FirstFactor.federated] }
}

extension Environment {
  /// Returns the first factor of a provider credential (check 88).
  ///
  /// A provider that states that it authenticated the user just now counts more than one that does not.
  func firstFactor(of credential: VerifiedCredential) -> FirstFactor {
    if let first = credential.passkeyFactor { return first }
    var first = FirstFactor.provider(credential.assertion.identity.providerID)
    if let authenticatedAt = credential.authenticatedAt, isRecent(authenticatedAt) {
      first.methods.append(FirstFactor.fresh)
    }
    return first
  }

  /// Returns whether a login is recent, by the provider's own clock.
  func isRecent(_ authenticatedAt: Timestamp) -> Bool {
    authenticatedAt.adding(millis: policy.recentLoginMillis + Environment.clockSkewMillis) >= clock.now()
  }

  /// Maximum difference between a provider's clock and the server's, in milliseconds.
  static let clockSkewMillis: Int64 = 60_000
}

/// A session row that is not written yet, with its only valid refresh token.
package struct OpenedSession: Hashable, Sendable {
  package var record: SessionRecord
  package var refreshToken: String
}

extension Environment {
  package func openSession(
    accountID: String, by first: FirstFactor, secondFactor: FactorRecord? = nil, call: CallFacts, now: Timestamp
  ) -> OpenedSession {
    let id = ids.session(at: now)
    let token = RefreshToken(sessionID: id, secret: randomness.bytes(RefreshToken.secretBytes))
    let limits = policy.sessionLimits(secondFactor: secondFactor?.kind.rawValue)
    var record = SessionRecord(
      id: id, accountID: accountID, caller: call.caller, refreshDigest: token.digest(cryptography), authTime: now,
      signInProviderID: first.signInProviderID, methods: first.methods, audience: call.audience, createdAt: now,
      idleExpiresAt: now.adding(millis: limits.idleMillis), expiresAt: now.adding(millis: limits.absoluteMillis))
    if let secondFactor { record.pass(secondFactor) }
    record.claimsJSON = first.claimsJSON
    record.ipAddress = call.ipAddress
    record.userAgent = call.userAgent
    record.deviceID = call.deviceID
    return OpenedSession(record: record, refreshToken: token.text(cryptography))
  }

  /// Mints the tokens of a durable session. Before the commit, a token could outlive a lost race.
  package func grant(_ opened: OpenedSession, _ state: AccountState, now: Timestamp) async throws -> SessionGrant {
    let claims = claims(for: opened.record, state, now: now)
    return grant(opened, state, claims, idToken: try tokens.mintIDToken(claims))
  }

  package func grant(
    _ opened: OpenedSession, _ state: AccountState, _ claims: IDToken, idToken: String
  ) -> SessionGrant {
    SessionGrant(
      idToken: idToken, idTokenExpiresAt: claims.expiresAt.wholeSeconds, refreshToken: opened.refreshToken,
      refreshTokenExpiresAt: min(opened.record.idleExpiresAt, opened.record.expiresAt), sessionID: opened.record.id,
      account: state,
      secondFactorDuty: policy.secondFactorDuty(of: opened.record, state, now: claims.issuedAt))
  }

  /// Returns the claims of an ID token for this session: the account as it is now, the login as it was.
  package func claims(for session: SessionRecord, _ state: AccountState, now: Timestamp) -> IDToken {
    let account = state.account
    let lifetimeMillis = policy.idTokenLifetimeMillis(of: session)
    let passed = state.passedFactor(of: session)
    var token = IDToken(
      accountID: account.id, audience: session.audience, sessionID: session.id, issuedAt: now,
      expiresAt: min(now.adding(millis: lifetimeMillis), session.expiresAt), authTime: session.authTime,
      methods: passed == nil ? session.firstFactorMethods : session.methods,
      signInProviderID: session.signInProviderID)
    token.email = account.email
    token.emailVerified = account.emailVerified
    token.phoneNumber = account.phoneNumber
    token.name = account.displayName.isEmpty ? nil : account.displayName
    token.picture = account.photoURL.isEmpty ? nil : account.photoURL
    token.identities = state.identities.map(\.key)
    if state.hasPasskeys { token.identities.removeAll { $0.providerID == SignInMethods.passkey } }
    // A factor that was withdrawn since is omitted. Another user may have it now.
    token.signInSecondFactor = passed?.kind.rawValue
    token.signInSecondFactorID = passed?.id
    token.customClaimsJSON = account.customClaimsJSON
    token.sessionClaimsJSON = session.claimsJSON
    if policy.secondFactorDuty(of: session, state, now: now).isOverdue {
      token.audience = RestrictedAudience.derived(from: session.audience)
    }
    return token
  }
}
