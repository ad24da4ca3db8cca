import Store

/// Effect of a presented refresh token on its session.
enum RefreshDecision: Hashable, Sendable {
  case refuse(Failure)
  /// The token is older than any honest client's. It was copied, and the server does not know which of its holders
  /// presents it.
  case endFamily(CallerSession)
  /// The session moves to this token.
  case rotate(RefreshToken, CallerSession)
  /// The session moved to this token before. The answer was lost, or another call of the same client was faster.
  case repeatAnswer(RefreshToken, CallerSession)
  /// A repeat under its key, for a session that has moved since. It gets a token that follows the present one.
  case goOn(CallerSession)

  /// - Parameter isRepeat: whether an earlier call with the same token left a record under the call's key.
  static func decide(
    _ presented: RefreshToken, _ facts: Facts, caller: CallerName, policy: Policy, now: Timestamp,
    _ cryptography: any Cryptography, isRepeat: Bool = false
  ) -> RefreshDecision {
    guard let session = facts.session, session.caller == caller else {
      return .refuse(Failure(.invalidRefreshToken, hint: "Sign in again."))
    }
    let live: CallerSession
    do {
      live = try SessionCheck.live(session, facts.sessionAccount, now: now)
    } catch {
      return .refuse(error)
    }
    let digest = presented.digest(cryptography)
    if equal(digest, session.refreshDigest, cryptography) { return .rotate(presented.successor(cryptography), live) }
    guard let parent = session.parentDigest, equal(digest, parent, cryptography) else {
      return isRepeat ? .goOn(live) : .endFamily(live)
    }
    // Another call's repeated answer moved the session. The holder of this token may not have received that answer.
    if let repeated = RefreshToken.repeated(in: session, cryptography) { return .repeatAnswer(repeated, live) }
    // With one master key, the session can have moved to no other token.
    let moved = cryptography.masterKeyCount > 1
      ? presented.successor(cryptography, matching: session.refreshDigest) : nil
    let next = moved ?? presented.successor(cryptography)
    if isRepeat { return .repeatAnswer(next, live) }
    guard let rotatedAt = session.rotatedAt, now <= rotatedAt.adding(millis: policy.refreshGraceMillis),
      !rotatedAt.isAhead(of: now)
    else {
      return .endFamily(live)
    }
    return .repeatAnswer(next, live)
  }

  private static func equal(_ left: Digest, _ right: Digest, _ cryptography: any Cryptography) -> Bool {
    cryptography.equal(left.bytes, right.bytes)
  }
}
