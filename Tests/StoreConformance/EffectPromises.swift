import Store

/// Each write changes what it states, and nothing else. The samples of two accounts agree in all that a key permits:
/// versions, digests, and the names of dependents. A condition that a backend forgets hits several of them.
extension Promise {
  static let effects = groups.map(promise) + [
    Promise("the checks of effects make every kind of write, with each option") { bench in
      let made = groups.flatMap { $0.steps(bench).map { WriteVariant($0.write) } }
      try bench.equal(WriteVariant.allCases.filter { !made.contains($0) }, [])
    }
  ]

  private static let groups: [(name: String, steps: @Sendable (Bench) -> [Step])] = [
    ("accounts", accountSteps), ("credentials", credentialSteps), ("sessions", sessionSteps),
    ("pending rows", pendingSteps), ("messages", deliverySteps), ("other records", recordSteps),
  ]

  private static func promise(_ name: String, _ steps: @escaping @Sendable (Bench) -> [Step]) -> Promise {
    Promise("a write changes its own rows only: \(name)") { bench in
      try await fillTwins(bench)
      var wanted = try await rows(bench)
      for step in steps(bench) {
        try bench.equal(try await bench.commit(step.write), .committed, line: step.line)
        step.effect(&wanted)
        let found = try await rows(bench)
        try bench.equal(found.facts, wanted.facts, line: step.line)
        try bench.equal(found.sessions, wanted.sessions, line: step.line)
        try bench.equal(found.pendings, wanted.pendings, line: step.line)
        try bench.equal(found.idle, wanted.idle, line: step.line)
      }
    }
  }

  @Sendable private static func accountSteps(_ bench: Bench) -> [Step] {
    var renamed = bench.fullAccount("ann")
    renamed.displayName = "New"
    let closed = ClosedAccountRecord(id: "ann", closedAt: Bench.noon)
    return [
      Step(.account(.update(renamed))) {
        $0.change(account: "ann") { ($0.account, $0.account.version) = (renamed, 2) }
      },
      Step(.account(.raise(id: "ann", version: 2))) { $0.change(account: "ann") { $0.account.version = 3 } },
      Step(.account(.touch(id: "ann", version: 3, lastSignInAt: bench.later(9)))) {
        $0.change(account: "ann") { $0.account.lastSignInAt = bench.later(9) }
      },
      Step(.account(.confirm(id: "ann", version: 3))),
      Step(.account(.requireFreeEmail("free@example.com"))),
      Step(.account(.requireIdle(accountID: "ann", since: bench.later(1)))),
      Step(.account(.noteIdle(accountID: "ann", since: bench.later(9)))) { $0.idle = ["bob"] },
      Step(.account(.cutOff(accountID: "ann", at: bench.later(8), disabling: false))) {
        $0.change(account: "ann") { ($0.account.version, $0.account.tokensValidAfter) = (4, bench.later(8)) }
      },
      Step(.account(.cutOff(accountID: "ann", at: bench.later(9), disabling: true))) {
        $0.change(account: "ann") {
          ($0.account.version, $0.account.tokensValidAfter, $0.account.disabled) = (5, bench.later(9), true)
        }
      },
      Step(.account(.insert(bench.account("cat")))) {
        $0.facts.page.append(AccountState(account: bench.account("cat")))
      },
      Step(.account(.close(ClosedAccountRecord(id: "cat", closedAt: Bench.noon), version: nil))) {
        $0.facts.page.removeLast()
      },
      Step(.account(.close(closed, version: 5))) {
        $0.facts.page.removeFirst()
        $0.facts.closedAccount = closed
        for id in ["s-ann", "t-ann"] { $0.sessions[id] = nil }
        for number in [1, 2] { $0.pendings[number] = nil }
      },
      Step(.account(.forget(id: "ann", at: bench.later(9)))) { $0.facts.closedAccount?.forgottenAt = bench.later(9) },
    ]
  }

  @Sendable private static func credentialSteps(_ bench: Bench) -> [Step] {
    let third = bench.identity("3", of: "ann", linkedAt: bench.later(1))
    let moved = bench.identity("1", of: "ann", email: "new@example.com")
    let added = FactorRecord(id: "h", accountID: "ann", kind: .phone, enrolledAt: bench.later(2))
    var renamed = factor("f", of: "ann")
    (renamed.displayName, renamed.sealedSecret) = ("New", [7])
    return [
      Step(.identity(.insert(third))) { $0.change(account: "ann") { $0.identities.append(third) } },
      Step(.identity(.update(moved))) { $0.change(account: "ann") { $0.identities[0] = moved } },
      Step(.identity(.delete(third.key, accountID: "ann"))) {
        $0.change(account: "ann") { $0.identities.removeLast() }
      },
      Step(.factor(.insert(added))) { $0.change(account: "ann") { $0.factors.append(added) } },
      Step(.factor(.update(renamed))) { $0.change(account: "ann") { $0.factors[0] = renamed } },
      Step(.factor(.delete(id: "f", accountID: "ann"))) { $0.change(account: "ann") { $0.factors.removeFirst() } },
      Step(.factor(.requireNone(accountID: "cat"))),
      Step(.unlink(.remember(unlink("2", of: "ann", at: bench.later(1))))) {
        $0.change(account: "ann") { $0.unlinks[1].at = bench.later(1) }
      },
      Step(.unlink(.forget(accountID: "ann", unlink("1", of: "ann").key))) {
        $0.change(account: "ann") { $0.unlinks.removeFirst() }
      },
    ]
  }

  @Sendable private static func sessionSteps(_ bench: Bench) -> [Step] {
    func end(_ millis: Int64, _ reason: SessionClosedReason) -> SessionEnd {
      SessionEnd(at: bench.later(millis), reason: reason)
    }
    func closeBegun(except: String?, at: Timestamp) -> SessionWrite {
      .closeBegun(accountID: "ann", beganWith: "password", except: except, at: at, reason: .unlinked)
    }
    func opening(_ id: String, line: Int = #line) -> Step {
      let session = bench.session(id, of: "ann")
      return Step(.session(.insert(session)), line: line) { $0.sessions[id] = session }
    }
    let (at, idle) = (bench.later(1), bench.later(900))
    let rotation = SessionWrite.rotate(
      id: "s-ann", from: bench.digest(1), to: bench.digest(9), at: at, idleExpiresAt: idle)
    return [
      Step(.session(rotation)) {
        $0.change(session: "s-ann") {
          ($0.parentDigest, $0.refreshDigest) = (bench.digest(1), bench.digest(9))
          ($0.rotatedAt, $0.lastUsedAt, $0.idleExpiresAt) = (at, at, idle)
        }
      },
      Step(.session(.rename(id: "s-ann", signInProviderID: "oidc.b", methods: ["fed"], at: at))) {
        $0.change(session: "s-ann") { ($0.signInProviderID, $0.methods) = ("oidc.b", ["fed"]) }
      },
      Step(.session(.requireOpen(id: "s-ann", at: at))),
      Step(.session(.requireOpen(id: "s-ann", refreshDigest: bench.digest(9), at: at))),
      Step(.session(closeBegun(except: "s-ann", at: bench.later(2)))) {
        $0.change(session: "t-ann") { $0.closed = end(2, .unlinked) }
      },
      Step(.session(.close(id: "s-ann", accountID: "ann", at: bench.later(3), reason: .signedOut))) {
        $0.change(session: "s-ann") { $0.closed = end(3, .signedOut) }
      },
      opening("u-ann"),
      Step(.session(closeBegun(except: nil, at: bench.later(4)))) {
        $0.change(session: "u-ann") { $0.closed = end(4, .unlinked) }
      },
      opening("v-ann"), opening("w-ann"),
      Step(.session(.closeAll(accountID: "ann", except: "v-ann", at: bench.later(5), reason: .revoked))) {
        $0.change(session: "w-ann") { $0.closed = end(5, .revoked) }
      },
      Step(.session(.closeAll(accountID: "ann", except: nil, at: bench.later(6), reason: .revoked))) {
        $0.change(session: "v-ann") { $0.closed = end(6, .revoked) }
      },
    ]
  }

  @Sendable private static func pendingSteps(_ bench: Bench) -> [Step] {
    let (first, second, fifth) = (bench.pending(1, of: "ann"), bench.pending(2, of: "ann"), bench.pending(5, of: "bob"))
    var (sixth, seventh) = (bench.pending(6, of: "ann"), bench.pending(7, of: "ann"))
    (sixth.identity, sixth.createdAt) = (second.identity, bench.later(1))
    seventh.purpose = .revertEmail
    func opening(_ number: Int, _ row: PendingRecord, line: Int = #line) -> Step {
      Step(.pending(.insert(row, limits: .wide)), line: line) { $0.pendings[number] = row }
    }
    return [
      Step(.pending(.reseal(first.digest, version: 1, sealed: [7]))) {
        $0.change(pending: 1) { ($0.sealed, $0.version) = ([7], 2) }
      },
      Step(.pending(.spendAttempt(first.digest, version: 2))) {
        $0.change(pending: 1) { ($0.attemptsLeft, $0.version) = (1, 3) }
      },
      Step(.pending(.countAttempt(first.digest))) {
        $0.change(pending: 1) { ($0.attemptsLeft, $0.version) = (0, 4) }
      },
      Step(.pending(.complete(first.digest, version: 4, at: Bench.noon, accountID: "ann", sessionID: "s"))) {
        $0.change(pending: 1) {
          ($0.completedAt, $0.completedAccountID, $0.completedSessionID, $0.version) = (Bench.noon, "ann", "s", 5)
        }
      },
      opening(5, fifth),
      Step(.pending(.end(first.purpose, first.identity))) { $0.pendings[1] = nil },
      opening(6, sixth),
      Step(.pending(.end(second.purpose, second.identity, createdAfter: second.createdAt))) { $0.pendings[6] = nil },
      opening(6, sixth),
      Step(.pending(.deleteAll(accountID: "ann", except: second.digest))) { $0.pendings[6] = nil },
      opening(6, sixth), opening(7, seventh),
      Step(.pending(.deleteAll(accountID: "ann", except: second.digest, sparing: [seventh.purpose]))) {
        $0.pendings[6] = nil
      },
      Step(.pending(.deleteAll(accountID: "ann", sparing: [seventh.purpose]))) { $0.pendings[2] = nil },
      Step(.pending(.deleteAll(accountID: "ann"))) { $0.pendings[7] = nil },
    ]
  }

  @Sendable private static func deliverySteps(_ bench: Bench) -> [Step] {
    let (message, notice) = (bench.delivery("4"), bench.notice("5", mergeByte: 2))
    return [
      Step(.delivery(.claim(id: "1", attempts: 0, nextAttemptAt: bench.later(5)))) {
        ($0.queue.due[0].attempts, $0.queue.due[0].nextAttemptAt) = (1, bench.later(5))
      },
      Step(.delivery(.bury(id: "1", at: Bench.noon, reason: "why", keptUntil: bench.later(9)))) {
        $0.queue.due.removeFirst()
        ($0.queue.waitingCount, $0.queue.buriedCount) = (2, 1)
      },
      Step(.delivery(.requeue(id: "1", at: bench.later(7), queueMax: 9))) {
        var again = bench.delivery("1")
        again.nextAttemptAt = bench.later(7)
        $0.queue.due.insert(again, at: 0)
        ($0.queue.waitingCount, $0.queue.buriedCount) = (3, 0)
      },
      Step(.delivery(.noteError(id: "1", error: "no route"))) { $0.queue.due[0].lastError = "no route" },
      Step(.delivery(.removeSent(id: "1", at: Bench.noon, keptUntil: bench.later(9)))) {
        $0.queue.due.removeFirst()
        $0.queue.waitingCount = 2
      },
      Step(.delivery(.remove(id: "1"))),
      Step(.delivery(.enqueue(message, queueMax: 9))) {
        $0.queue.due.append(message)
        $0.queue.waitingCount = 3
      },
      Step(.delivery(.enqueueNotice(notice, within: bench.noticeLimits()))) {
        $0.queue.due.append(notice)
        $0.queue.waitingCount = 4
      },
    ]
  }

  @Sendable private static func recordSteps(_ bench: Bench) -> [Step] {
    var second = bench.event(2)
    second.position = 2
    let later = bench.later(1)
    var blocking = bench.count(2)
    blocking.rule = ThrottleRule(2, inMillis: 1000)
    return sealSteps(bench) + [
      Step(.throttle(.count(bench.count(1)))) { $0.facts.throttles[0].count = 2 },
      Step(.throttle(.count(bench.count(1, refusesBlocked: true)))) { $0.facts.throttles[0].count = 3 },
      Step(.throttle(.reset(bench.digest(1), .sendsPerRecipient, at: bench.later(1)))) {
        $0.facts.throttles.removeFirst()
      },
      Step(.throttle(.count(blocking))) {
        $0.facts.throttles = [ThrottleRecord.counting(blocking, after: $0.facts.throttles.first)]
      },
      Step(.throttle(.reset(blocking.key, blocking.kind, at: bench.later(1), liftsBlock: true))) {
        $0.facts.throttles = []
      },
      Step(.signingKey(.insert(bench.signingKey("k3")))) { $0.facts.signingKeys.append(bench.signingKey("k3")) },
      Step(.signingKey(.retire(keyID: "k1", at: Bench.noon))) { $0.facts.signingKeys[0].retiredAt = Bench.noon },
      Step(.signingKey(.delete(retiredBy: Bench.noon))) { $0.facts.signingKeys.removeFirst() },
      Step(.signingKey(.confirm(bench.signingKey("k2")))),
      Step(.signingKey(.reschedule(keyID: "k2", activeFrom: later, retiredAt: nil))) {
        $0.facts.signingKeys[0].activeFrom = later
        $0.facts.signingKeys.swapAt(0, 1)
      },
      Step(.signingKey(.reschedule(keyID: "k2", activeFrom: Bench.noon, retiredAt: nil))) {
        $0.facts.signingKeys[1].activeFrom = Bench.noon
        $0.facts.signingKeys.swapAt(0, 1)
      },
      Step(.signingKey(.insert(bench.signingKey("k4")))) { $0.facts.signingKeys.append(bench.signingKey("k4")) },
      Step(.signingKey(.revoke(keyID: "k4"))) { $0.facts.signingKeys.removeLast() },
      Step(.signingKey(.retire(keyID: "k2", at: later))) { $0.facts.signingKeys[0].retiredAt = later },
      Step(.signingKey(.retire(keyID: "k3", at: later))) { $0.facts.signingKeys[1].retiredAt = later },
      Step(.signingKey(.requireNone)),
      Step(.failure(.add(bench.failures(1)))),
      Step(.record(.insertIdempotency(bench.idempotency(2)))),
      Step(.record(.spendToken(bench.digest(2), expiresAt: Bench.noon))),
      Step(.record(.keepImportKey(ImportKeyRecord(id: "j", sealedKey: [2], createdAt: Bench.noon)))),
      Step(.record(.appendAudit(bench.event(2)))) {
        $0.facts.events.append(second)
        $0.facts.lastEvent = 2
      },
    ]
  }
}

/// Writes that a rotation of the master key makes. The twin of each row has the same sealed bytes.
private func sealSteps(_ bench: Bench) -> [Step] {
  let key = MasterKeyRecord(id: "1a2b3c4d", knownAt: Bench.noon, seenAt: Bench.noon)
  var sealing = key
  (sealing.seenAt, sealing.sealedAt) = (bench.later(1), bench.later(1))
  let sealed = bench.pending(1, of: "ann").sealed
  return [
    Step(.record(.noteMasterKey(MasterKeyID(text: key.id), seals: false, at: Bench.noon))) {
      $0.facts.masterKeys = .keys([key])
    },
    Step(.record(.noteMasterKey(MasterKeyID(text: key.id), seals: true, at: bench.later(1)))) {
      $0.facts.masterKeys = .keys([sealing])
    },
    Step(.record(.seal(.signingKey("k1"), from: [1, 2, 3], to: [9]))) {
      $0.facts.signingKeys[0].sealedPrivateKey = [9]
    },
    Step(.record(.seal(.importKey("i"), from: [1], to: [9]))) { $0.facts.importKey?.sealedKey = [9] },
    Step(.record(.seal(.factor("f", accountID: "ann"), from: [1], to: [9]))) {
      $0.change(account: "ann") { $0.factors[0].sealedSecret = [9] }
    },
    Step(.record(.seal(.pending(bench.digest(1)), from: sealed, to: [9]))) {
      $0.change(pending: 1) { $0.sealed = [9] }
    },
    Step(.record(.seal(.delivery("1"), from: bench.delivery("1").sealed, to: [9]))) { $0.queue.due[0].sealed = [9] },
  ]
}

/// A write, and how it changes the rows.
private struct Step {
  let write: Write
  let effect: (inout Rows) -> Void
  let line: Int

  init(_ write: Write, line: Int = #line, effect: @escaping (inout Rows) -> Void = { _ in }) {
    self.write = write
    self.effect = effect
    self.line = line
  }
}

/// All rows of the samples that lookups return.
private struct Rows {
  /// Accounts with their dependents (`page`), messages, counts and independent records.
  var facts: Facts
  /// The ids of idle accounts.
  var idle: [String]
  var sessions: [String: SessionRecord] = [:]
  var pendings: [Int: PendingRecord] = [:]

  /// The messages by id.
  var queue: DeliveryQueue {
    get { facts.deliveries ?? DeliveryQueue() }
    set { facts.deliveries = newValue }
  }

  mutating func change(account id: String, _ body: (inout AccountState) -> Void) {
    for index in facts.page.indices where facts.page[index].account.id == id { body(&facts.page[index]) }
  }

  mutating func change(session id: String, _ body: (inout SessionRecord) -> Void) {
    if var session = sessions[id] {
      body(&session)
      sessions[id] = session
    }
  }

  mutating func change(pending number: Int, _ body: (inout PendingRecord) -> Void) {
    if var pending = pendings[number] {
      body(&pending)
      pendings[number] = pending
    }
  }
}

private func rows(_ bench: Bench) async throws -> Rows {
  var facts = try await bench.load {
    ($0.accountID, $0.page) = ("ann", PageOrder(afterID: nil, accountsMax: 9))
    ($0.signingKeys, $0.importKeyID) = (true, "i")
    ($0.idempotency, $0.spentToken) = (bench.digest(1), bench.digest(1))
    $0.throttles = [bench.digest(1), bench.digest(2)]
    let classes = DeliveryPriority.allCases.map { (DeliveryClass(.textMessage, $0), 9) }
    $0.deliveries = DueDeliveries(at: bench.later(99), rowsMax: Dictionary(uniqueKeysWithValues: classes))
    $0.events = EventRange(after: 0, rowsMax: 9)
    $0.idleAnonymous = IdleQuery(before: bench.later(1), accountsMax: 9)
    $0.masterKeys = .keys
  }
  var rows = Rows(facts: Facts(), idle: facts.idleAnonymous.map(\.id).sorted())
  // Their versions are those of the page.
  (facts.account, facts.idleAnonymous) = (nil, [])
  facts.deliveries?.due.sort { $0.id < $1.id }
  rows.facts = facts
  for id in ["s-ann", "t-ann", "u-ann", "v-ann", "w-ann", "s-bob"] {
    rows.sessions[id] = try await bench.loadSession(id)
  }
  for number in 1...7 { rows.pendings[number] = try await bench.loadPending(bench.digest(number)) }
  return rows
}

private func factor(_ id: String, of accountID: String) -> FactorRecord {
  FactorRecord(id: id, accountID: accountID, kind: .totp, sealedSecret: [1], enrolledAt: Bench.noon)
}

private func unlink(_ subject: String, of accountID: String, at: Timestamp = Bench.noon) -> UnlinkRecord {
  UnlinkRecord(accountID: accountID, key: IdentityKey(providerID: "oidc.old", subject: subject), at: at)
}

private func fillTwins(_ bench: Bench) async throws {
  var bob = bench.fullAccount("bob")
  bob.phoneNumber = "+49152"
  var (third, fourth) = (bench.pending(3, of: "bob"), bench.pending(4, of: "bob"))
  third.identity = IdentityKey(providerID: "google.com", subject: "s1")
  (fourth.identity, fourth.purpose) = (bench.pending(1, of: "ann").identity, .enrollment)
  try await bench.prepare(
    .account(.insert(bench.fullAccount("ann"))), .account(.insert(bob)),
    .identity(.insert(bench.identity("1", of: "ann"))), .identity(.insert(bench.identity("2", of: "ann"))),
    .identity(.insert(bench.identity("1", of: "bob", provider: "oidc.corp"))),
    .factor(.insert(factor("f", of: "ann"))), .factor(.insert(factor("g", of: "ann"))),
    .factor(.insert(factor("f", of: "bob"))),
    .unlink(.remember(unlink("1", of: "ann"))), .unlink(.remember(unlink("2", of: "ann"))),
    .unlink(.remember(unlink("2", of: "bob"))),
    .session(.insert(bench.session("s-ann", of: "ann"))), .session(.insert(bench.session("t-ann", of: "ann"))),
    .session(.insert(bench.session("s-bob", of: "bob"))),
    .pending(.insert(bench.pending(1, of: "ann"), limits: .wide)),
    .pending(.insert(bench.pending(2, of: "ann"), limits: .wide)), .pending(.insert(third, limits: .wide)),
    .pending(.insert(fourth, limits: .wide)))
  try await bench.prepare(
    .delivery(.enqueue(bench.delivery("1"), queueMax: 9)), .delivery(.enqueue(bench.delivery("2"), queueMax: 9)),
    .delivery(.enqueueNotice(bench.notice("3"), within: bench.noticeLimits())),
    .throttle(.count(bench.count(1))), .throttle(.count(bench.count(2))),
    .signingKey(.insert(bench.signingKey("k1"))), .signingKey(.insert(bench.signingKey("k2"))),
    .record(.insertIdempotency(bench.idempotency(1))),
    .record(.spendToken(bench.digest(1), expiresAt: Bench.noon)),
    .record(.keepImportKey(ImportKeyRecord(id: "i", sealedKey: [1], createdAt: Bench.noon))),
    .record(.appendAudit(bench.event(1))))
}
