package import Store

/// Says how the owner of an address, or of a held credential, can sign in.
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
      // Under enumeration protection nothing is even looked up, so that no clock tells one address from another.
      if environment.mayLookUpEmail(call) {
        query.waysIn = email
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
    guard let record = facts.waysIn else { return ProvidersAnswer() }
    var waysIn = WaysIn(record, environment.policy)
    // An imported account whose person only ever had mailed links, which no export says: a link to it signs in (3.4).
    if waysIn.isEmpty, record.emailProved, record.providerIDs.isEmpty {
      waysIn = WaysIn(mailedLinkUnder: environment.policy)
    }
    // In duplicate mode an address names a password or a mailed link only: who else uses it at a provider is nobody's
    // to know.
    if !environment.policy.oneAccountPerEmail { waysIn = waysIn.only([WaysIn.password, WaysIn.emailLink]) }
    return answer(waysIn)
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
    answer.pending = HeldCredential(
      purpose: row.purpose, providerID: assertion.identity.providerID, email: assertion.email,
      username: assertion.username, displayName: assertion.displayName, expiresAt: row.expiresAt)
    return answer
  }

  private func answer(_ waysIn: WaysIn) -> ProvidersAnswer {
    var answer = ProvidersAnswer()
    answer.registered = true
    answer.providerIDs = waysIn.providerIDs
    answer.methods = waysIn.methods
    return answer
  }
}

extension Environment {
  /// `conflict_reveals_methods`: a bare assertion of an address is no reason to tell how its owner signs in, a proof of
  /// it is; and a caller that may look up any address could ask anyway, as every caller without enumeration protection.
  func reveals(_ tier: TrustTier, to call: CallFacts) -> Bool {
    policy.conflictRevealsMethods == .always || tier >= .verified || mayLookUpEmail(call)
  }

  /// Whether this caller may learn if an email address has an account.
  func mayLookUpEmail(_ call: CallFacts) -> Bool { call.mayFetchByEmail || !policy.emailEnumerationProtection }

  /// S8: where the account holds another subject of the same provider, neither that provider nor the mailbox tells the
  /// old holder from the new one.
  func waysToComplete(_ row: PendingRecord, _ state: AccountState) -> WaysIn {
    if row.purpose == .link, state.isUnentered(policy) { return WaysIn(mailedLinkUnder: policy) }
    let waysIn = WaysIn(state, policy)
    let providerID = row.identity.providerID
    guard row.purpose == .link, state.identity(of: providerID) != nil else { return waysIn }
    return waysIn.without([providerID, WaysIn.emailLink])
  }
}
