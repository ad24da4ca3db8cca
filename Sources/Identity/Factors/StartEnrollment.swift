import Encodings
package import Store

package struct StartEnrollmentRequest: Hashable, Sendable {
  package var idToken: String
  package var kind: FactorKind
  /// Phone factors only, in E.164.
  package var phoneNumber: String?
  package var displayName: String
  package var locale: String
  /// Passkeys only. Empty: the caller's first one.
  package var relyingPartyID: String

  package init(
    idToken: String, kind: FactorKind, phoneNumber: String? = nil, displayName: String = "", locale: String = "",
    relyingPartyID: String = ""
  ) {
    self.idToken = idToken
    self.kind = kind
    self.phoneNumber = phoneNumber
    self.displayName = displayName
    self.locale = locale
    self.relyingPartyID = relyingPartyID
  }
}

package struct StartedEnrollment: Hashable, Sendable {
  package var enrollmentID: String
  /// TOTP only: the secret in base32, and as a URI.
  package var totpSecret = ""
  package var totpURI = ""
  /// Passkeys only.
  package var optionsJSON = ""
  package var expiresAt: Timestamp
}

/// Starts the enrolment of a second factor. The account does not change until the user proves possession of the factor.
package struct StartEnrollment: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ request: StartEnrollmentRequest, _ call: CallFacts) async throws -> StartedEnrollment {
    let token = try environment.tokens.verifyIDToken(request.idToken, at: environment.clock.now())
    var query = Query()
    query.sessionID = token.sessionID
    let throttle = request.phoneNumber.map { environment.throttle(.sends, of: $0, isVerified: true, call: call) }
    throttle?.look(into: &query)
    let facts = try await environment.first(query)
    if let number = request.phoneNumber {
      // A closed session asks no hook.
      _ = try SessionCheck.open(token, in: facts, call: call, restrictedToo: true, now: environment.clock.now())
      try await environment.requireSend(
        .secondFactorCode, to: .phoneNumber(number), locale: request.locale, call, throttle, facts)
    }
    return try await environment.decideAndCommit(query, facts, call: call) { facts, now in
      let caller = try SessionCheck.open(token, in: facts, call: call, restrictedToo: true, now: now)
      let refusal = EnrollmentDecision.refusal(
        request.kind, phoneNumber: request.phoneNumber, caller, policy: environment.policy, now: now)
      if let refusal { return .refuse(refusal) }
      let admitted = try throttle?.admit(facts, now: now)
      return try start(request, caller, counting: admitted?.count(at: now) ?? [], call, now)
    }
  }

  private func start(
    _ request: StartEnrollmentRequest, _ caller: CallerSession, counting counts: [Write], _ call: CallFacts,
    _ now: Timestamp
  ) throws -> Step<StartedEnrollment> {
    var held = PendingEnrollment(
      kind: request.kind, sessionID: caller.session.id, displayName: request.displayName)
    var started = StartedEnrollment(
      enrollmentID: "", expiresAt: now.adding(millis: environment.lifetimeMillis(ofEnrolling: request.kind)))
    var writes: [Write] = [.session(.requireOpen(id: caller.session.id, at: now))]
    switch request.kind {
    case .totp:
      held.secret = environment.randomness.bytes(TOTP.secretBytes)
      started.totpSecret = Base32.encode(held.secret)
      started.totpURI = TOTP.uri(
        secret: held.secret, issuer: environment.policy.totpIssuer, account: caller.state.account.email ?? "")
    case .phone:
      let number = request.phoneNumber ?? ""
      // The enrolment id serves as the verification id.
      let (sent, _) = environment.newCode(
        for: "", expiresAt: started.expiresAt, attemptsLeft: environment.policy.factorCodeAttemptsMax, after: nil)
      held.phoneNumber = number
      held.sentCode = sent
      writes.append(environment.send(sent, to: number, of: caller.state.account.id, locale: request.locale, now: now))
    case .recoveryCode: break
    case .passkey:
      let relyingPartyID = try environment.relyingPartyID(request.relyingPartyID, of: call)
      var challenge = environment.newChallenge(.link, of: caller.state.account.id, at: relyingPartyID)
      challenge.userHandle = environment.newUserHandle()
      challenge.factorID = PasskeyChallenge.newFactor
      held.passkeyChallenge = challenge
      started.optionsJSON = try environment.creationOptions(challenge, for: caller.state)
    }
    let pending = environment.hold(held, caller, call: call, now: now)
    started.enrollmentID = pending.handle
    writes.append(.pending(.insert(pending.record, limits: environment.policy.pendingLimits)))
    return .commit(Change(writes + counts), started)
  }
}
