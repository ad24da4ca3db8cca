package import Store

/// The session on whose behalf a call is made, found open, with its account.
package struct CallerSession: Hashable, Sendable {
  package var session: SessionRecord
  package var state: AccountState

  /// The account has a second factor, and this session showed none that it still has.
  package var lacksSecondFactor: Bool { state.hasSecondFactor && state.passedFactor(of: session) == nil }
}

/// Step 3 of every call with an `id_token`, and what sensitive operations ask of the session.
package enum SessionCheck {
  /// - Parameter token: what `Tokens.verifyIDToken` accepted.
  /// - Parameter facts: of a query with the token's `sessionID`.
  /// - Parameter endedGuestToo: also one that ended because its guest became somebody.
  package static func open(
    _ token: IDToken, in facts: Facts, call: CallFacts, endedGuestToo: Bool = false, now: Timestamp
  ) throws(Failure) -> CallerSession {
    guard call.audiences.contains(token.audience) else {
      throw Failure(.invalidIDToken, debug: "token for another audience")
    }
    let caller = try live(facts.session, facts.sessionAccount, endedGuestToo: endedGuestToo, now: now)
    guard caller.session.accountID == token.accountID else {
      throw Failure(.invalidIDToken, debug: "the session is another account's")
    }
    return caller
  }

  /// A session that may still be used, or why not.
  package static func live(
    _ session: SessionRecord?, _ state: AccountState?, endedGuestToo: Bool = false, now: Timestamp
  ) throws(Failure) -> CallerSession {
    guard let session, let state else { throw Failure(.tokenRevoked, hint: "Sign in again.") }
    if endedGuestToo, session.closedReason == SessionRecord.guestEndedReason, !state.account.disabled {
      return CallerSession(session: session, state: state)
    }
    if session.closedAt != nil {
      // Disabling has closed its sessions. A new one is no cure, and none can be had (section 9).
      let isShut = state.account.disabled && session.closedReason == SessionRecord.disabledReason
      throw isShut ? Failure.userIsDisabled : Failure(.tokenRevoked, hint: "Sign in again.")
    }
    guard session.isOpen(at: now) else { throw Failure(.tokenExpired, hint: "Sign in again.") }
    guard !state.account.disabled else { throw Failure.userIsDisabled }
    return CallerSession(session: session, state: state)
  }

  /// The window counts from `auth_time`, which no refresh moves, and is closed at its very end. A login that a clock
  /// dated ahead is not recent: its age is unknown.
  package static func requireRecentLogin(
    _ caller: CallerSession, maxAgeMillis: Int64, policy: Policy, now: Timestamp
  ) throws(Failure) {
    let authTime = caller.session.authTime
    let isRecent = now < authTime.adding(millis: maxAgeMillis) && !authTime.isAhead(of: now)
    let isConfirmed = !policy.recentLoginConfirmed || caller.session.loginIsConfirmed
    guard !isRecent || !isConfirmed else { return }
    let metadata = recentLogin(
      of: caller.state, maxAgeMillis: maxAgeMillis, confirmed: !isConfirmed, policy: policy)
    throw Failure(.requiresRecentLogin, hint: "Reauthenticate and try again.", metadata: metadata)
  }

  /// How the account's person gets to the login that is wanted.
  /// - Parameter confirmed: the provider has to say that it was a new one.
  static func recentLogin(
    of state: AccountState, maxAgeMillis: Int64, confirmed: Bool, policy: Policy
  ) -> [String: String] {
    var metadata = [
      "max_age_seconds": String(maxAgeMillis / 1000),
      "methods": WaysIn(state, policy).methods.joined(separator: ","),
    ]
    if confirmed { metadata["confirmed"] = "required" }
    return metadata
  }

  package static func requireRecentLogin(
    _ caller: CallerSession, for operation: SensitiveOperation, policy: Policy, now: Timestamp
  ) throws(Failure) {
    try requireRecentLogin(caller, maxAgeMillis: policy.recentLoginMillis(for: operation), policy: policy, now: now)
  }

  package static func requireSecondFactor(_ caller: CallerSession) throws(Failure) {
    guard caller.lacksSecondFactor else { return }
    throw Failure(.requiresSecondFactor, hint: "Reauthenticate with the second factor and try again.")
  }
}
