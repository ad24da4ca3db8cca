package import Store

/// The open session on whose behalf a call is made, with its account.
package struct CallerSession: Hashable, Sendable {
  package var session: SessionRecord
  package var state: AccountState

  /// Whether the account has a second factor, and this session showed none that the account still has.
  package var lacksSecondFactor: Bool { state.hasSecondFactor && state.passedFactor(of: session) == nil }
}

/// Step 3 of every call with an `id_token`, and the requirements of sensitive operations.
package enum SessionCheck {
  /// Returns the open session of an ID token with its account.
  /// - Parameter token: accepted by `Tokens.verifyIDToken`.
  /// - Parameter facts: of a query with the token's `sessionID`.
  /// - Parameter endedGuestToo: accept a session that ended because its anonymous account became permanent.
  /// - Parameter restrictedToo: accept the token of a restricted session (section 11, F7). All other calls reject it,
  ///   also those that will be added later.
  package static func open(
    _ token: IDToken, in facts: Facts, call: CallFacts, endedGuestToo: Bool = false, restrictedToo: Bool = false,
    now: Timestamp
  ) throws(Failure) -> CallerSession {
    let isRestricted = try RestrictedAudience.isOf(token, call)
    let caller = try live(facts.session, facts.sessionAccount, endedGuestToo: endedGuestToo, now: now)
    guard caller.session.accountID == token.accountID else {
      throw Failure(.invalidIDToken, debug: "the session belongs to another account")
    }
    call.notes?.concerns(token.accountID)
    guard restrictedToo || !isRestricted else { throw Failure.sessionIsRestricted.concerning(token.accountID) }
    return caller
  }

  /// Returns the session if it is usable. Throws the reason if it is not.
  package static func live(
    _ session: SessionRecord?, _ state: AccountState?, endedGuestToo: Bool = false, now: Timestamp
  ) throws(Failure) -> CallerSession {
    guard let session, let state else { throw Failure(.tokenRevoked, hint: "Sign in again.") }
    if endedGuestToo, session.closed?.reason == .becamePermanent, !state.account.disabled {
      return CallerSession(session: session, state: state)
    }
    if session.closed != nil {
      // Disabling closed the sessions of the account. No new session can be opened (section 9).
      let isDisabled = state.account.disabled && session.closed?.reason == .disabled
      let failure = isDisabled ? Failure.userIsDisabled : Failure(.tokenRevoked, hint: "Sign in again.")
      throw failure.concerning(state.account.id)
    }
    guard session.isOpen(at: now) else { throw Failure(.tokenExpired, hint: "Sign in again.") }
    guard !state.account.disabled else { throw Failure.userIsDisabled }
    return CallerSession(session: session, state: state)
  }

  /// Requires a recent login.
  ///
  /// The window starts at `auth_time`, which no refresh changes, and excludes its end. A login with a time in the
  /// future is not recent, because its age is unknown.
  package static func requireRecentLogin(
    _ caller: CallerSession, maxAgeMillis: Int64, policy: Policy, now: Timestamp
  ) throws(Failure) {
    let authTime = caller.session.authTime
    let isRecent = now < authTime.adding(millis: maxAgeMillis) && !authTime.isAhead(of: now)
    let isConfirmed = !policy.recentLoginConfirmed || caller.session.loginIsConfirmed
    guard !isRecent || !isConfirmed else { return }
    let metadata = recentLogin(
      of: caller.state, maxAgeMillis: maxAgeMillis, confirmed: !isConfirmed, policy: policy)
    // Reauthenticate takes no token of a restricted session (F9).
    let isRestricted =
      if case .overdue = policy.secondFactorDuty(of: caller.session, caller.state, now: now) { true } else { false }
    let hint = isRestricted ? "Sign in again, and try again." : "Reauthenticate and try again."
    throw Failure(.requiresRecentLogin, hint: hint, metadata: metadata)
  }

  /// Returns how the user can get the required login.
  /// - Parameter confirmed: the provider must state that the login was a new one.
  static func recentLogin(
    of state: AccountState, maxAgeMillis: Int64, confirmed: Bool, policy: Policy
  ) -> [String: String] {
    var metadata = [
      "max_age_seconds": String(maxAgeMillis / 1000),
      "methods": SignInMethods(state, policy).methods.joined(separator: ","),
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
