package import Store

/// How a session began: what its tokens say in `sign_in_provider` and `amr` (RFC 8176 names where there is one).
package struct FirstFactor: Hashable, Sendable {
  package var signInProviderID: String
  package var methods: [String]
  /// What a custom token says of this session, beside what the account says of itself: a JSON object, or empty.
  package var claimsJSON: String

  package init(signInProviderID: String, methods: [String], claimsJSON: String = "") {
    self.signInProviderID = signInProviderID
    self.methods = methods
    self.claimsJSON = claimsJSON
  }

  package static let password = FirstFactor(signInProviderID: WaysIn.password, methods: ["pwd"])
  package static let anonymous = FirstFactor(signInProviderID: "anonymous", methods: ["anon"])
  package static let customToken = FirstFactor(signInProviderID: "custom", methods: ["custom"])
  package static func customToken(_ token: CustomToken) -> FirstFactor {
    FirstFactor(signInProviderID: "custom", methods: ["custom"], claimsJSON: token.claimsJSON)
  }
  package static let phone = FirstFactor(signInProviderID: WaysIn.phone, methods: ["sms"])
  package static let emailLink = FirstFactor(signInProviderID: WaysIn.emailLink, methods: ["email"])
  package static func provider(_ providerID: String) -> FirstFactor {
    switch providerID {
    case WaysIn.password: .password
    case WaysIn.phone: .phone
    case WaysIn.emailLink: .emailLink
    default: FirstFactor(signInProviderID: providerID, methods: [federated])
    }
  }

  fileprivate static let federated = "fed"
  fileprivate static let fresh = "fresh"

  var isFederated: Bool { methods.contains(FirstFactor.federated) }
}

extension SessionRecord {
  /// Why it was closed, where its account was disabled.
  static let disabledReason = "disabled"
  /// Why it was closed, where its guest has become somebody.
  static let guestEndedReason = "became_permanent"

  /// What the session began with; `signInProviderID` is what was linked last. Sessions that are older than `beganWith`
  /// tell it by their first method.
  var beginning: FirstFactor {
    let known: [FirstFactor] = [.password, .phone, .emailLink, .customToken, .anonymous]
    if let first = known.first(where: { $0.methods.first == methods.first }) { return first }
    let isKept = !known.contains { $0.signInProviderID == beganWith }
    return FirstFactor(
      signInProviderID: isKept ? beganWith : FirstFactor.federated, methods: [FirstFactor.federated])
  }

  /// False where all there is to it is a provider that knew its person, perhaps by nothing but an old cookie.
  var loginIsConfirmed: Bool { methods != [FirstFactor.federated] }
}

extension Environment {
  /// Check 88: a provider that says that the person proved itself just now is worth more than one that does not.
  func firstFactor(of credential: VerifiedCredential) -> FirstFactor {
    var first = FirstFactor.provider(credential.assertion.identity.providerID)
    if let authenticatedAt = credential.authenticatedAt, isRecent(authenticatedAt) {
      first.methods.append(FirstFactor.fresh)
    }
    return first
  }

  /// Of a login that a provider tells of, by its own clock.
  func isRecent(_ authenticatedAt: Timestamp) -> Bool {
    authenticatedAt.adding(millis: policy.recentLoginMillis + Environment.clockSkewMillis) >= clock.now()
  }

  /// How far a provider's clock may be from ours.
  static let clockSkewMillis: Int64 = 60_000
}

/// A session row that is not yet written, with the one refresh token that fits it.
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

  /// Mints the tokens of a session that is durable; never before its commit, or a token would outlive a lost race.
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
      account: state)
  }

  /// What an ID token of this session says now: the account as it is, the login as it was.
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
    token.emailVerified = account.emailProved
    token.phoneNumber = account.phoneNumber
    token.name = account.displayName.isEmpty ? nil : account.displayName
    token.picture = account.photoURL.isEmpty ? nil : account.photoURL
    token.identities = state.identities.map(\.key)
    // One that was withdrawn since, perhaps because somebody else has it, vouches for nobody any more.
    token.signInSecondFactor = passed?.kind.rawValue
    token.signInSecondFactorID = passed?.id
    token.customClaimsJSON = account.customClaimsJSON
    token.sessionClaimsJSON = session.claimsJSON
    return token
  }
}
