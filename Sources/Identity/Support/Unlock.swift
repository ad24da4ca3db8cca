package import Store

/// A throttle that counts attempts of one user.
package struct UserThrottle: Hashable, Sendable {
  package var kind: ThrottleKind
  package var key: Digest
}

/// A throttle that rejects attempts of one user now.
package struct UserBlock: Hashable, Sendable {
  package var kind: ThrottleKind
  package var until: Timestamp
}

extension Environment {
  /// Returns every throttle that counts attempts of this user alone: by address, by account and by known device.
  ///
  /// Limits of networks and callers cover other users too, so they are not included.
  func throttles(of state: AccountState?, _ subject: AccountSubject, devices: [String]) -> [UserThrottle] {
    func counted(_ kinds: [ThrottleKind], _ parts: String...) -> [UserThrottle] {
      kinds.flatMap { kind in
        (0..<cryptography.masterKeyCount).map { masterKey in
          UserThrottle(kind: kind, key: throttleKey(kind, parts, masterKey: masterKey))
        }
      }
    }
    let codes: [ThrottleKind] = [
      .codeFailuresPerAccount, .codeFailuresOnKnownDevices, .sendsPerRecipient, .sendsOnKnownDevices,
    ]
    var (email, number) = (state?.account.email, state?.account.phoneNumber)
    switch subject {
    case .accountID: break
    case .email(let named): email = email ?? named
    case .phoneNumber(let named): number = number ?? named
    }
    var throttles: [UserThrottle] = []
    if let email {
      throttles += counted([.passwordFailuresPerAccount, .resetsPerRecipient, .resetsOnKnownDevices] + codes, email)
      throttles += devices.flatMap { counted([.passwordFailuresPerDevice], email, $0) }
    }
    if let number { throttles += counted(codes, number) }
    if let id = state?.account.id {
      throttles += counted([.changesPerAccount, .passwordChangesPerAccount] + codes, id)
    }
    return throttles
  }
}

extension Facts {
  func blocks(of throttles: [UserThrottle], at now: Timestamp) -> [UserBlock] {
    let records = Dictionary(self.throttles.map { ($0.key, $0) }) { first, _ in first }
    return throttles.compactMap { throttle in
      records[throttle.key]?.block(at: now).map { UserBlock(kind: throttle.kind, until: $0) }
    }
  }
}

/// Ends the blocks of a user, and starts their counts again.
///
/// An administrator decides that the attempts were the user's own. Works for an address without an account, whose user
/// may be blocked at a sign-up.
package struct Unlock: Sendable {
  /// Sessions whose devices may be blocked.
  static let sessionsMax = 50

  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// Returns the blocks that ended.
  package func callAsFunction(_ subject: AccountSubject, _ call: CallFacts) async throws -> [UserBlock] {
    let found = try await environment.first(subject.query)
    let state = subject.account(in: found)
    if state == nil, subject.attempted == nil { throw found.noAccount() }
    let throttles = try await environment.throttles(of: state, subject)
    var query = Query()
    query.throttles = throttles.map(\.key)
    return try await environment.decideAndCommit(query, try await environment.load(query), call: call) { facts, now in
      let known = Set(facts.throttles.map(\.key))
      let counted = throttles.filter { known.contains($0.key) }
      guard !counted.isEmpty else { return .answer([]) }
      let blocks = facts.blocks(of: throttles, at: now)
      let note = AuditNote(
        .unlocked, accountID: state?.account.id ?? "",
        details: ["by": "administrator", "lifted": "\(blocks.count)"])
      let resets = counted.map { Write.throttle(.reset($0.key, $0.kind, at: now, liftsBlock: true)) }
      return .commit(Change(resets + [environment.audit(note, call: call, now: now)]), blocks)
    }
  }
}

extension Environment {
  /// Returns the throttles of a user, those of the devices of recent sessions included.
  func throttles(of state: AccountState?, _ subject: AccountSubject) async throws -> [UserThrottle] {
    var devices: Set<String> = []
    if let id = state?.account.id {
      var support = SupportQuery()
      (support.accountID, support.sessionsMax) = (id, Unlock.sessionsMax)
      var query = Query()
      query.support = support
      devices = Set(try await load(query).support?.sessions.map(\.deviceID) ?? [])
    }
    return throttles(of: state, subject, devices: devices.filter { !$0.isEmpty }.sorted())
  }
}
