package import Store

/// Returns the sign-in methods of the owner of a pending credential.
package struct FetchByPendingToken: Reading {
  private let environment: Environment
  private let call: CallFacts
  package let query: Query

  package init(_ environment: Environment, _ pendingToken: String, _ call: CallFacts) throws {
    self.environment = environment
    self.call = call
    var query = Query()
    query.pending = try environment.pendingDigest(pendingToken)
    self.query = query
  }

  package func answer(_ facts: Facts) throws -> ProvidersAnswer {
    let now = environment.clock.now()
    let purpose = facts.pending?.purpose ?? .link
    let opened = try environment.openPending(facts.pending, purpose: purpose, call: call, now: now)
    guard case .held(let row, let held) = opened else {
      throw Failure.rowWasUsed
    }
    var answer = ProvidersAnswer()
    if let state = facts.pendingAccount {
      answer =
        environment.reveals(row.tier, to: call)
        ? ProvidersAnswer(environment.waysToComplete(row, state)) : ProvidersAnswer(registered: true)
    }
    let assertion = held.assertion
    answer.pending = PendingCredentialInfo(
      purpose: row.purpose, providerID: assertion.identity.providerID, email: assertion.email,
      username: assertion.username, displayName: assertion.displayName, expiresAt: row.expiresAt)
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
    let methods = SignInMethods(state, policy)
    guard row.purpose == .link else { return methods }
    if state.isUnentered(policy) { return SignInMethods(mailboxUnder: policy) }
    let providerID = row.identity.providerID
    guard state.identity(of: providerID) != nil else { return methods.orMailbox(of: state.account, policy) }
    return methods.without(SignInMethods.mailbox.union([providerID]))
  }
}
