import Store

extension Promise {
  static let throttles = [
    Promise("a count reads back, and starts again with its window") { bench in
      for moment in [0, 1, 999] { try await bench.prepare(.throttle(.count(bench.count(1, at: Int64(moment))))) }
      let row = try bench.require(try await bench.throttle(1))
      try bench.equal(
        row, ThrottleRecord(key: bench.digest(1), count: 3, since: Bench.noon, expiresAt: bench.later(1000)))
      try await bench.prepare(.throttle(.count(bench.count(1, at: 1000))))
      try bench.equal(try await bench.throttle(1)?.count, 1)
      try bench.equal(try await bench.throttle(2), nil)
    },
    Promise("the last count that a window allows blocks its key until the window ends") { bench in
      for _ in 0..<5 { try await bench.prepare(.throttle(.count(bench.count(1, at: 10, refusesBlocked: true)))) }
      let until = bench.later(1010)
      try bench.equal(try await bench.throttle(1)?.block(at: bench.later(1009)), until)
      let sixth = bench.count(1, at: 1009, refusesBlocked: true)
      try bench.equal(try await bench.commit(.throttle(.count(sixth))), .throttled(sixth.kind, until: until))
      try await bench.prepare(.throttle(.count(bench.count(1, at: 1010, refusesBlocked: true))))
    },
    Promise("a block that a clock dated ahead ends with its correction, and counting begins again") { bench in
      let ahead: Int64 = 86_400_000
      for _ in 0..<5 { try await bench.prepare(.throttle(.count(bench.count(1, at: ahead, refusesBlocked: true)))) }
      try bench.equal(try await bench.throttle(1)?.block(at: bench.later(ahead)) != nil, true)
      try bench.equal(try await bench.throttle(1)?.block(at: bench.later(1)), nil)
      try await bench.prepare(.throttle(.count(bench.count(1, at: 1, refusesBlocked: true))))
      try bench.equal(
        try await bench.throttle(1),
        ThrottleRecord(key: bench.digest(1), count: 1, since: bench.later(1), expiresAt: bench.later(1001)))
    },
    Promise("a change that is rejected by a throttle writes nothing else") { bench in
      for _ in 0..<5 { try await bench.prepare(.throttle(.count(bench.count(1, refusesBlocked: true)))) }
      let refused = bench.count(1, refusesBlocked: true)
      try bench.equal(
        try await bench.commit(.account(.insert(bench.account("ann"))), .throttle(.count(refused))),
        .throttled(refused.kind, until: bench.later(1000)))
      try bench.equal(try await bench.loadAccount("ann"), nil)
    },
    Promise("the counts of a caller follow the rule, in any order of their times") { bench in
      var expected: ThrottleRecord?
      let times: [Int64] = [
        0, 1, 1, 999, 1000, 1500, 1200, 1200, 1200, 1200, 1201, 1999, 2199, 2200, 2201, 90_000_000, 2300, 2300, 2301,
      ]
      for time in times {
        var count = bench.count(1, at: time)
        count.kind = .sendsPerCaller
        try await bench.prepare(.throttle(.count(count)))
        expected = ThrottleRecord.counting(count, after: expected)
        try bench.equal(try await bench.throttle(1), expected)
      }
    },
    Promise("a caller's count and another that refuses are counted in one change, or neither is") { bench in
      var callers = bench.count(1)
      callers.kind = .sendsPerCaller
      callers.rule.countMax = 100
      callers.rule.countAgainMax = 100
      for number in 1...6 {
        let change = [Write.throttle(.count(callers)), .throttle(.count(bench.count(2, refusesBlocked: true)))]
        let outcome = try await bench.store.commit(Change(change), commitDecision: CommitDecision())
        try bench.equal(outcome == .committed, number <= 5)
        try bench.equal(try await bench.throttle(1)?.count, min(number, 5))
      }
    },
    Promise("a failure that began before a block is counted after it") { bench in
      for _ in 0..<6 { try await bench.prepare(.throttle(.count(bench.count(1)))) }
      try bench.equal(try await bench.throttle(1)?.count, 1)
    },
    Promise("a reset deletes the count, and no block") { bench in
      let reset = Write.throttle(.reset(bench.digest(1), .sendsPerRecipient, at: bench.later(1)))
      try await bench.prepare(reset)
      for _ in 0..<4 { try await bench.prepare(.throttle(.count(bench.count(1)))) }
      try await bench.prepare(reset)
      try bench.equal(try await bench.throttle(1), nil)
      for _ in 0..<5 { try await bench.prepare(.throttle(.count(bench.count(1)))) }
      try bench.equal(
        try await bench.commit(reset), .throttled(.sendsPerRecipient, until: bench.later(1000)))
    },
    Promise("a reset that lifts blocks ends a block") { bench in
      for _ in 0..<5 { try await bench.prepare(.throttle(.count(bench.count(1)))) }
      for _ in 0..<2 {
        try await bench.prepare(
          .throttle(.reset(bench.digest(1), .sendsPerRecipient, at: bench.later(1), liftsBlock: true)))
        try bench.equal(try await bench.throttle(1), nil)
      }
    },
    Promise("a device that was signed out before its account was cut off is not known") { bench in
      var ann = bench.account("ann", email: "ann@example.com")
      try await bench.prepare(.account(.insert(ann)), .session(.insert(bench.session("s", of: "ann"))))
      try await bench.prepare(.session(.close(id: "s", accountID: "ann", at: bench.later(10), reason: .signedOut)))
      for (cutOff, isKnown) in [(9, true), (10, false), (11, false)] {
        ann.tokensValidAfter = bench.later(Int64(cutOff))
        try await bench.prepare(.account(.update(ann)))
        ann.version += 1
        let facts = try await bench.load {
          $0.email = "ann@example.com"
          $0.deviceID = "device"
        }
        try bench.equal(facts.deviceIsKnown, isKnown)
      }
    },
    Promise("a device is known if its owner has a session on it that only its owner may have ended") { bench in
      try await bench.prepare(
        .account(.insert(bench.account("ann", email: "ann@example.com", phoneNumber: "+4915100"))),
        .account(.insert(bench.account("bob"))),
        .session(.insert(bench.session("s", of: "ann"))))
      let known: (String) async throws -> Bool = { name in
        try await bench.load {
          $0.email = "ann@example.com"
          $0.deviceID = name
        }.deviceIsKnown
      }
      try bench.equal(try await known("device"), true)
      try bench.equal(try await known("other"), false)
      let ofNumber: (String) async throws -> Bool = { number in
        try await bench.load {
          $0.phoneNumber = number
          $0.deviceID = "device"
        }.deviceIsKnown
      }
      try bench.equal(try await ofNumber("+4915100"), true)
      try bench.equal(try await ofNumber("+4915101"), false)
      try await bench.prepare(.session(.close(id: "s", accountID: "ann", at: Bench.noon, reason: .signedOut)))
      try bench.equal(try await known("device"), true)
      try await bench.prepare(.session(.insert(bench.session("t", of: "bob", refresh: 2))))
      let ofSession = try await bench.load {
        $0.sessionID = "t"
        $0.deviceID = "device"
      }
      try bench.equal(ofSession.deviceIsKnown, true)
      try await bench.prepare(.session(.close(id: "t", accountID: "bob", at: Bench.noon, reason: .reclaimed)))
      let closed = try await bench.load {
        $0.sessionID = "t"
        $0.deviceID = "device"
      }
      try bench.equal(closed.deviceIsKnown, false)
    },
    Promise("a device of a given account is known only to that account, even if others are found") { bench in
      try await bench.prepare(
        .account(.insert(bench.account("ann", email: "ann@example.com", phoneNumber: "+4915100"))),
        .account(.insert(bench.account("bob"))),
        .session(.insert(bench.session("s", of: "ann"))))
      let isOf: (String) async throws -> Bool = { id in
        let alone = try await bench.load { ($0.deviceOwnerID, $0.deviceID) = (id, "device") }
        let besideAnother = try await bench.load {
          ($0.email, $0.phoneNumber, $0.sessionID) = ("ann@example.com", "+4915100", "s")
          ($0.deviceOwnerID, $0.deviceID) = (id, "device")
        }
        try bench.equal(alone.deviceIsKnown, besideAnother.deviceIsKnown)
        return alone.deviceIsKnown
      }
      try bench.equal(try await isOf("ann"), true)
      try bench.equal(try await isOf("bob"), false)
      try bench.equal(try await isOf("nobody"), false)
      try await bench.prepare(.session(.insert(bench.session("t", of: "bob", refresh: 2))))
      try bench.equal(try await isOf("bob"), true)
      try await bench.prepare(.session(.close(id: "t", accountID: "bob", at: Bench.noon, reason: .factorEnrolled)))
      try bench.equal(try await isOf("bob"), false)
    },
    Promise("a sweep removes counts that have no more effect") { bench in
      try await bench.prepare(.throttle(.count(bench.count(1))), .throttle(.count(bench.count(2, at: 1))))
      try bench.equal(try await bench.store.sweep(at: bench.later(1000), rowsMax: 10), 1)
      try bench.equal(try await bench.throttle(1), nil)
      try bench.equal(try await bench.throttle(2)?.count, 1)
    },
  ]
}

extension Bench {
  /// A count that blocks its key after five in one second, until the second is over.
  func count(_ number: Int, at millis: Int64 = 0, refusesBlocked: Bool = false) -> ThrottleCount {
    ThrottleCount(
      key: digest(number), kind: .sendsPerRecipient, rule: ThrottleRule(5, inMillis: 1000), at: later(millis),
      refusesBlocked: refusesBlocked)
  }

  func later(_ millis: Int64) -> Timestamp { Bench.noon.adding(millis: millis) }

  func throttle(_ number: Int) async throws -> ThrottleRecord? {
    try await load { $0.throttles = [digest(number)] }.throttles.first
  }
}
