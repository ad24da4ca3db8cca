package import Store

/// Returns the sign-in methods of the owner of an email address or of a pending credential.
package final class FetchProviders: Reading {
  private let environment: Environment
  private let request: FetchProvidersRequest
  private let call: CallFacts
  package let query: Query

  package init(_ environment: Environment, _ request: FetchProvidersRequest, _ call: CallFacts) throws {
    self.environment = environment
    self.request = request
    self.call = call
    var query = Query()
    switch request {
    case .email(let email):
      // Enumeration protection prevents the look-up itself, so that the response time reveals nothing.
      if environment.mayLookUpEmail(call) {
        query.methods = email
        query.includesLinkedEmail = environment.policy.oneAccountPerEmail
      }
    case .pendingToken(let handle):
      query.pending = try environment.pendingDigest(handle)
    }
    self.query = query
  }

  package func answer(_ facts: Facts) throws -> ProvidersAnswer {
    switch request {
    case .email: byEmail(facts)
    case .pendingToken: try byPendingToken(facts)
    }
  }

  private func byEmail(_ facts: Facts) -> ProvidersAnswer {
    guard let record = facts.methods else { return ProvidersAnswer() }
    var methods = SignInMethods(record, environment.policy)
    // The user of an imported account may have used only sign-in links, which no export states. A sign-in link works
    // for such an account (section 3.4).
    if methods.isEmpty, record.emailVerified, record.providerIDs.isEmpty {
      methods = SignInMethods(mailedLinkUnder: environment.policy)
    }
    // In duplicate mode an email address identifies only a password or sign-in link. Other users of the address at a
    // provider stay private.
    if !environment.policy.oneAccountPerEmail {
      methods = methods.only([SignInMethods.password, SignInMethods.emailLink])
    }
    return answer(methods)
  }

  private func byPendingToken(_ facts: Facts) throws -> ProvidersAnswer {
    let now = environment.clock.now()
    let purpose = facts.pending?.purpose ?? .link
    let opened = try environment.openPending(facts.pending, purpose: purpose, call: call, now: now)
    guard case .held(let row, let held) = opened else {
      throw Failure.rowWasUsed
    }
    var answer = ProvidersAnswer()
    if let state = facts.pendingAccount {
      answer.registered = true
      if environment.reveals(row.tier, to: call) { answer = self.answer(environment.waysToComplete(row, state)) }
    }
    let assertion = held.assertion
    answer.pending = PendingCredentialInfo(
      purpose: row.purpose, providerID: assertion.identity.providerID, email: assertion.email,
      username: assertion.username, displayName: assertion.displayName, expiresAt: row.expiresAt)
    return answer
  }

  private func answer(_ methods: SignInMethods) -> ProvidersAnswer {
    var answer = ProvidersAnswer()
    answer.registered = true
    answer.providerIDs = methods.providerIDs
    answer.methods = methods.methods
    return answer
  }
}

extension Environment {
  /// Whether an answer may list the sign-in methods of the email address's owner (`conflict_reveals_methods`).
  ///
  /// An unverified assertion of the address is not sufficient, but a verified one is. A caller that may look up any
  /// address could ask anyway. Without enumeration protection every caller may.
  func reveals(_ tier: TrustTier, to call: CallFacts) -> Bool {
    policy.conflictRevealsMethods == .always || tier >= .verified || mayLookUpEmail(call)
  }

  /// Whether this caller may learn if an email address has an account.
  func mayLookUpEmail(_ call: CallFacts) -> Bool { call.mayFetchByEmail || !policy.emailEnumerationProtection }

  /// Returns the sign-in methods that can complete a row.
  ///
  /// S8: if the account has another subject of the same provider, that provider and the mailbox are excluded. Neither
  /// can distinguish the old holder from the new one.
  func waysToComplete(_ row: PendingRecord, _ state: AccountState) -> SignInMethods {
    if row.purpose == .link, state.isUnentered(policy) { return SignInMethods(mailedLinkUnder: policy) }
    let methods = SignInMethods(state, policy)
    let providerID = row.identity.providerID
    guard row.purpose == .link, state.identity(of: providerID) != nil else { return methods }
    return methods.without([providerID, SignInMethods.emailLink])
  }
}
