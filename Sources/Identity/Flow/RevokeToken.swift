import Store

/// A provider's own token that the caller has and the provider shall revoke. This service stores none.
package struct TokenToRevoke: Hashable, Sendable {
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    case accessToken = "access_token"
    case refreshToken = "refresh_token"
    /// Of Apple: redeemed first, so that there is a token to revoke (T6).
    case authorizationCode = "authorization_code"
  }

  package static let field = "token"

  package var providerID: String
  /// A secret: never log it.
  package var text: String
  package var kind: Kind
  /// Empty: the provider's first client id.
  package var clientID: String
  /// The redirect URI of an authorization code, if it came by one.
  package var redirectURI: String

  package init(
    providerID: String, text: String, kind: Kind, clientID: String = "", redirectURI: String = ""
  ) {
    self.providerID = providerID
    self.text = text
    self.kind = kind
    self.clientID = clientID
    self.redirectURI = redirectURI
  }
}

/// The end of a token of an account that was deleted.
package struct TokenRevocation: Hashable, Sendable {
  package var providerID: String
  /// nil: the provider revoked the token.
  package var failure: Failure?
}

/// Whether the provider of a token may be asked (SEMANTICS.md, section 17, rows T2 and T3).
enum RevocationDecision {
  static func check(_ token: TokenToRevoke, of state: AccountState, _ policy: Policy) throws(Failure) {
    let field = TokenToRevoke.field + ".provider_id"
    guard policy.enabledProviderIDs.contains(token.providerID) else {
      throw Failure(.operationNotAllowed, field: field, hint: "The provider is not enabled.")
    }
    guard state.identity(of: token.providerID) != nil else {
      throw Failure(.noSuchProvider, field: field, hint: "Revoke the token before you unlink its provider.")
    }
  }
}

/// Has a provider revoke one of its tokens (SEMANTICS.md, section 17, rows T1 to T8).
package struct RevokeToken: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ token: TokenToRevoke, idToken: String, _ call: CallFacts) async throws {
    guard try await environment.recorded(call) == nil else { return }
    let session = try environment.tokens.verifyIDToken(idToken, at: environment.clock.now())
    var query = Query()
    query.sessionID = session.sessionID
    let throttle = environment.throttle(.changes, of: session.accountID, call: call)
    throttle.look(into: &query)
    let facts = try await environment.first(query)
    // Counted before the provider is asked: a client must not use this service to send many requests to it (T7).
    let accountID = try await environment.decideAndCommit(query, facts, call: call) { facts, now -> Step<String> in
      let caller = try SessionCheck.open(session, in: facts, call: call, now: now)
      let admitted = try throttle.admit(facts, now: now)
      try RevocationDecision.check(token, of: caller.state, environment.policy)
      return .commit(Change(admitted.count(at: now)), caller.state.account.id)
    }
    do {
      try await environment.providers.revoke(token, at: environment.clock.now())
    } catch {
      // Another call under the same key may have used up the code or the token (T8).
      if try await environment.recorded(call) != nil { return }
      throw token.kind == .authorizationCode ? error.afterRedemption : error
    }
    var repeats = Query()
    repeats.look(for: call.idempotency)
    // The token is revoked, even if the client no longer waits for the answer.
    _ = try await environment.decideAndCommit(repeats, Facts(), call: call, commitDecision: CommitDecision()) {
      facts, now in
      try call.step(facts, now) { _, now -> Step<Void> in
        let event = environment.audit(.revoked(token, of: accountID), call: call, now: now)
        let record = call.remember(
          "revoked", accountID: accountID, sessionID: nil, policy: environment.policy, now: now)
        return .commit(Change([event] + record), ())
      }
    }
  }
}

extension Error {
  /// The failure of a call with an authorization code, which is valid once. A repeat of the same call cannot succeed.
  fileprivate var afterRedemption: any Error {
    guard var failure = self as? Failure, failure.retryAfterMillis != nil else { return self }
    failure.retryAfterMillis = nil
    failure.hint = "The provider is unavailable. Get a new authorization code and try again later."
    return failure
  }
}

extension AuditNote {
  fileprivate static func revoked(_ token: TokenToRevoke, of accountID: String) -> AuditNote {
    AuditNote(
      .providerTokenRevoked, accountID: accountID,
      details: ["provider_id": token.providerID, "token_kind": token.kind.rawValue])
  }
}

extension Environment {
  /// Revokes tokens of an account that was deleted, all at the same time (T9). Nothing can make the deletion fail any
  /// more, so each token has its own result.
  @inline(never)
  func revoke(_ tokens: [TokenToRevoke], of state: AccountState, call: CallFacts) async -> [TokenRevocation] {
    let failures = await withTaskGroup(of: (Int, Failure?).self) { group in
      for (index, token) in tokens.enumerated() {
        group.addTask { [self] in (index, await failure(ofRevoking: token, of: state)) }
      }
      return await group.reduce(into: [Int: Failure]()) { failures, end in failures[end.0] = end.1 }
    }
    let now = clock.now()
    let notes = tokens.enumerated().filter { failures[$0.offset] == nil }.map {
      audit(.revoked($0.element, of: state.account.id), call: call, now: now)
    }
    // The tokens are revoked. A store that fails now loses only the events.
    if !notes.isEmpty { _ = try? await commit(Change(notes), CommitDecision()) }
    return tokens.enumerated().map { TokenRevocation(providerID: $0.element.providerID, failure: failures[$0.offset]) }
  }

  private func failure(ofRevoking token: TokenToRevoke, of state: AccountState) async -> Failure? {
    do {
      try RevocationDecision.check(token, of: state, policy)
      try await providers.revoke(token, at: clock.now())
      return nil
    } catch {
      return error as? Failure ?? Failure(.providerUnavailable, debug: "\(error)")
    }
  }
}
