import Store

/// A credential of Link after step 4: verified completely, with nothing written yet.
struct VerifiedLink: Sendable {
  var proof: LinkProof
  var singleUse: SingleUse?
  /// The tokens of the provider whose credential this call presents.
  var tokens: ProviderTokens?
  /// The pending row that held the assertion.
  var heldIn: Digest?
  /// The second factor that this call has shown.
  var passed: PassedFactor?
  /// The code that proves the assertion.
  var code: VerifiedCode?
  /// Count for the failures of a password: they reveal whether an email address has an account, and cost a hash.
  var admitted: AdmittedAttempt?
  /// Count for the link itself. nil after a second factor, whose codes are counted.
  var changes: Throttle?

  var assertion: Assertion? { if case .assertion(let assertion) = proof { assertion } else { nil } }

  /// Spends the code, if one was presented. What it verified is linked now, or stored in another row.
  func spentCode(for accountID: String = "", sessionID: String = "", _ now: Timestamp) -> [Write] {
    code?.spend(for: accountID, sessionID: sessionID, now: now) ?? []
  }

  var spentToken: [Write] {
    guard let singleUse else { return [] }
    return [singleUse.spending]
  }

  var email: String? {
    switch proof {
    case .assertion(let assertion): assertion.email
    case .password(let email, _): email
    }
  }

  /// How a session begins that this sign-in method opens.
  var firstFactor: FirstFactor {
    switch proof {
    case .assertion(let assertion):
      // A registration adds no factor to the session (P5).
      Passkey(of: assertion).map { .passkey(backupEligible: $0.backupEligible, userVerified: false) }
        ?? .provider(assertion.identity.providerID)
    case .password: .password
    }
  }

  init(proof: LinkProof, singleUse: SingleUse? = nil, heldIn: Digest? = nil) {
    self.proof = proof
    self.singleUse = singleUse
    self.heldIn = heldIn
  }

  init(_ verified: VerifiedCredential) {
    self.init(proof: .assertion(verified.assertion), singleUse: verified.singleUse)
    tokens = verified.tokens
  }

  init(_ code: VerifiedCode) {
    self.init(proof: .assertion(code.assertion))
    self.code = code
  }

  var userInfo: UserInfo? {
    code == nil && assertion?.passkey == nil ? assertion.map { UserInfo($0) } : nil
  }
}

extension Link {
  enum Verification: Sendable {
    case verified(VerifiedLink)
    /// The named session completed the pending token before.
    case completed(Digest, sessionID: String)
  }

  func verify(
    _ credential: Credential, for caller: CallerSession, _ facts: Facts, _ call: CallFacts
  ) async throws -> Verification {
    switch credential {
    case .providerToken(let token):
      return .verified(VerifiedLink(try await environment.verify(token)))
    case .authorizationResponse(let response):
      // A redirect is valid once. This check comes first, so that the redirect is still unspent after a new sign-in.
      try requireRecentLogin(caller)
      let accountID = caller.state.account.id
      return .verified(
        VerifiedLink(try await environment.verify(response, ending: .link, account: accountID, call)))
    case .password(let email, let password):
      try requireRecentLogin(caller)
      let hash = try await environment.hashNew(password, field: "credential.password.password", call: call)
      return .verified(VerifiedLink(proof: .password(email: email, hash: hash)))
    case .phoneCode(let verificationID, let digits):
      return .verified(try await verify(.phone(verificationID: verificationID, digits: digits), for: caller, call))
    case .emailLink(let email, let code):
      return .verified(try await verify(.emailLink(email: email, code: code), for: caller, call))
    case .emailCode(let digits): return .verified(try await verify(.emailCode(digits), for: caller, call))
    case .pendingToken(let handle):
      return try verify(environment.pendingDigest(handle), for: caller, facts, call)
    case .passkey(let response):
      try requireRecentLogin(caller)
      return .verified(
        VerifiedLink(try await environment.verifyRegistration(response, account: caller.state.account.id, call)))
    case .customToken, .anonymous:
      throw Failure(.invalidField, field: "credential", hint: "This kind of credential cannot be linked.")
    }
  }

  /// Requires what L12 does, before the work for a credential, or before one is spent. An anonymous session needs no
  /// recent login. Neither does an ended one whose account became permanent.
  private func requireRecentLogin(_ caller: CallerSession) throws {
    guard caller.session.closed == nil else { return }
    try LinkDecision.requireRecentLogin(caller, policy: environment.policy, now: environment.clock.now())
  }

  private func verify(
    _ code: PresentedCode, for caller: CallerSession, _ call: CallFacts
  ) async throws -> VerifiedLink {
    VerifiedLink(try await environment.prove(code, for: .link(caller), call))
  }

  /// Reads a pending row. Its fixed fields are sealed, so only its state is checked again later.
  private func verify(
    _ digest: Digest, for caller: CallerSession, _ facts: Facts, _ call: CallFacts
  ) throws -> Verification {
    switch try open(facts.pending, for: caller, call, environment.clock.now()) {
    case .completed(_, let sessionID): return .completed(digest, sessionID: sessionID)
    case .held(_, let held):
      let proof = LinkProof.assertion(held.assertion)
      return .verified(VerifiedLink(proof: proof, singleUse: held.singleUse, heldIn: digest))
    }
  }

  /// Opens a pending row. Rejects one that another account completed.
  func open(
    _ record: PendingRecord?, for caller: CallerSession, _ call: CallFacts, _ now: Timestamp
  ) throws(Failure) -> OpenedPending {
    let opened = try environment.openPending(record, purpose: .link, call: call, now: now)
    if case .completed(let accountID, _) = opened, accountID != caller.state.account.id {
      throw PendingTable.mismatch("completed by another account")
    }
    return opened
  }
}
