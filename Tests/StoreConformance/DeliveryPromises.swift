import Store

extension Promise {
  static let deliveries = [
    Promise("a message reads back as it was written, from the time it is due, the longest due first") { bench in
      let (one, two) = (bench.delivery("1"), bench.delivery("2", afterMillis: 5))
      try await bench.prepare(.delivery(.enqueue(two, queueMax: 9)), .delivery(.enqueue(one, queueMax: 9)))
      try bench.equal(try await bench.queue(afterMillis: -1).due, [])
      try bench.equal(try await bench.queue(afterMillis: 4).due, [one])
      let queue = try await bench.queue(afterMillis: 5)
      try bench.equal(
        queue, DeliveryQueue(due: [one, two], waitingCount: 2, buriedCount: 0, oldestCreatedAt: one.createdAt))
      try bench.equal(try await bench.queue(afterMillis: 5, rowsMax: 1).due, [one])
      try bench.equal(try await bench.queue(afterMillis: 5, rowsMax: 0).waitingCount, 2)
    },
    Promise("messages of each channel are read separately: many of one hide none of another") { bench in
      for (id, channel, due) in [("1", .mail, 0), ("2", .mail, 1), ("3", .textMessage, 3), ("4", .textMessage, 2)]
        as [(String, DeliveryChannel, Int64)]
      {
        var delivery = bench.delivery(id, afterMillis: due)
        delivery.channel = channel
        try await bench.prepare(.delivery(.enqueue(delivery, queueMax: 9)))
      }
      func due(_ rowsMax: [DeliveryChannel: Int]) async throws -> [String] {
        let classes = rowsMax.map { (DeliveryClass($0, .code), $1) }
        let wanted = DueDeliveries(
          at: Bench.noon.adding(millis: 3), rowsMax: Dictionary(uniqueKeysWithValues: classes))
        return try bench.require(try await bench.load { $0.deliveries = wanted }.deliveries).due.map(\.id)
      }
      try bench.equal(try await due([.mail: 9, .textMessage: 9]), ["1", "2", "4", "3"])
      try bench.equal(try await due([.mail: 1, .textMessage: 1]), ["1", "4"])
      try bench.equal(try await due([.textMessage: 9]), ["4", "3"])
    },
    Promise("codes come before notices that have been due longer, and each class has its own limit") { bench in
      try await bench.prepare(
        .delivery(.enqueueNotice(bench.notice("1"), within: bench.noticeLimits())),
        .delivery(.enqueueNotice(bench.notice("2", mergeByte: 2), within: bench.noticeLimits())),
        .delivery(.enqueue(bench.delivery("3", afterMillis: 5), queueMax: 9)))
      func due(_ codes: Int, _ notices: Int) async throws -> [String] {
        let rowsMax = [DeliveryClass(.textMessage, .code): codes, DeliveryClass(.textMessage, .notice): notices]
        let wanted = DueDeliveries(at: Bench.noon.adding(millis: 9), rowsMax: rowsMax)
        return try bench.require(try await bench.load { $0.deliveries = wanted }.deliveries).due.map(\.id)
      }
      try bench.equal(try await due(9, 9), ["3", "1", "2"])
      try bench.equal(try await due(9, 1), ["3", "1"])
      try bench.equal(try await due(0, 9), ["1", "2"])
    },
    Promise("equal notices are merged while one waits, and the later expiry stays") { bench in
      for (id, millis) in [("1", Int64(0)), ("2", 50), ("3", 20)] {
        try await bench.prepare(
          .delivery(.enqueueNotice(bench.notice(id, afterMillis: millis), within: bench.noticeLimits())))
      }
      var first = bench.notice("1")
      first.expiresAt = first.expiresAt.adding(millis: 50)
      try bench.equal(
        try await bench.queue(afterMillis: 60),
        DeliveryQueue(
          due: [first], waitingCount: 1, oldestCreatedAt: first.createdAt))
      try await bench.prepare(.delivery(.remove(id: "1")))
      try await bench.prepare(.delivery(.enqueueNotice(bench.notice("4"), within: bench.noticeLimits())))
      try await bench.prepare(.delivery(.bury(id: "4", at: Bench.noon, reason: "why", keptUntil: Bench.noon)))
      try await bench.prepare(.delivery(.enqueueNotice(bench.notice("5"), within: bench.noticeLimits())))
      try bench.equal(try await bench.queue(afterMillis: 60).due.map(\.id), ["5"])
    },
    Promise("past its account's limit a notice is dropped until the window ends; merged ones do not count") { bench in
      func enqueue(_ byte: UInt8, afterMillis: Int64 = 0, countMax: Int = 2) async throws {
        let limits = bench.noticeLimits(countMax: countMax, afterMillis: afterMillis)
        let notice = bench.notice("\(byte)-\(afterMillis)", afterMillis: afterMillis, mergeByte: byte)
        try bench.equal(try await bench.commit(.delivery(.enqueueNotice(notice, within: limits))), .committed)
      }
      func waiting() async throws -> Int {
        let queue = try await bench.queue(afterMillis: 0)
        return queue.waitingCount
      }
      for millis in 0..<5 as Range<Int64> { try await enqueue(1, afterMillis: millis) }
      try await enqueue(2)
      try bench.equal(try await waiting(), 2)
      try await enqueue(3, afterMillis: 5)
      try bench.equal(try await waiting(), 2)
      try await enqueue(3, afterMillis: 10_001)
      try bench.equal(try await waiting(), 3)
      for byte in 4..<9 as Range<UInt8> { try await enqueue(byte, afterMillis: 20_100, countMax: 0) }
      try bench.equal(try await waiting(), 8)
    },
    Promise("notices leave room for codes, and a full queue drops a notice without failing its change") { bench in
      for (id, byte) in [("1", UInt8(1)), ("2", 2), ("3", 3)] {
        let limits = bench.noticeLimits(queueMax: 2)
        try bench.equal(
          try await bench.commit(.delivery(.enqueueNotice(bench.notice(id, mergeByte: byte), within: limits))),
          .committed)
      }
      try bench.equal(try await bench.queue(afterMillis: 0).waitingCount, 2)
      try bench.equal(try await bench.commit(.delivery(.enqueue(bench.delivery("4"), queueMax: 3))), .committed)
      try bench.equal(
        try await bench.commit(.delivery(.enqueue(bench.delivery("5"), queueMax: 3))), .limited(.deliveries))
    },
    Promise("an attempt is claimed once, sets the next, and leaves the message in the queue") { bench in
      var one = bench.delivery("1")
      try await bench.prepare(.delivery(.enqueue(one, queueMax: 9)))
      let next = Bench.noon.adding(millis: 20)
      let claim = Write.delivery(.claim(id: "1", attempts: 0, nextAttemptAt: next))
      try bench.equal(try await bench.commit(claim), .committed)
      try bench.equal(try await bench.commit(claim), .stale)
      try bench.equal(
        try await bench.commit(.delivery(.claim(id: "2", attempts: 0, nextAttemptAt: next))), .stale)
      try bench.equal(try await bench.queue(afterMillis: 19).due, [])
      one.attempts = 1
      one.nextAttemptAt = next
      try bench.equal(try await bench.queue(afterMillis: 20).due, [one])
      try bench.equal(
        try await bench.commit(.delivery(.claim(id: "1", attempts: 1, nextAttemptAt: next))), .committed)
    },
    Promise("the queue accepts its maximum, and a sent or buried message frees its place") { bench in
      func enqueue(_ id: String) async throws -> Outcome {
        try await bench.commit(.delivery(.enqueue(bench.delivery(id), queueMax: 1)))
      }
      try bench.equal(try await enqueue("1"), .committed)
      try bench.equal(try await enqueue("2"), .limited(.deliveries))
      try await bench.prepare(.delivery(.remove(id: "1")))
      try await bench.prepare(.delivery(.remove(id: "1")))
      try bench.equal(try await enqueue("2"), .committed)
      try await bench.prepare(.delivery(.bury(id: "2", at: Bench.noon, reason: "why", keptUntil: Bench.noon)))
      try bench.equal(try await enqueue("3"), .committed)
      try bench.equal(try await enqueue("4"), .limited(.deliveries))
    },
    Promise("a message that one change adds and removes leaves nothing, and a full queue rejects it") { bench in
      func passThrough() async throws -> Outcome {
        try await bench.commit(.delivery(.enqueue(bench.delivery("1"), queueMax: 1)), .delivery(.remove(id: "1")))
      }
      try bench.equal(try await passThrough(), .committed)
      try bench.equal(try await bench.queue(afterMillis: 0), DeliveryQueue())
      try await bench.prepare(.delivery(.enqueue(bench.delivery("2"), queueMax: 1)))
      try bench.equal(try await passThrough(), .limited(.deliveries))
      try bench.equal(try await bench.queue(afterMillis: 0).waitingCount, 1)
    },
    Promise("a buried message is no longer due, is counted once, and is swept after its retention") { bench in
      try await bench.prepare(.delivery(.enqueue(bench.delivery("1"), queueMax: 9)))
      let bury = Write.delivery(
        .bury(
          id: "1", at: Bench.noon, reason: "refused", keptUntil: Bench.noon.adding(millis: 10)))
      try await bench.prepare(bury)
      try await bench.prepare(bury)
      try bench.equal(try await bench.queue(afterMillis: 9), DeliveryQueue(buriedCount: 1))
      try bench.equal(
        try await bench.commit(.delivery(.claim(id: "1", attempts: 0, nextAttemptAt: Bench.noon))), .stale)
      try bench.equal(try await bench.store.sweep(at: Bench.noon.adding(millis: 9), rowsMax: 9), 0)
      try bench.equal(try await bench.store.sweep(at: Bench.noon.adding(millis: 10), rowsMax: 9), 1)
      try bench.equal(try await bench.queue(afterMillis: 10), DeliveryQueue())
      try await bench.prepare(bury, .delivery(.remove(id: "1")))
    },
    Promise("a buried message can be removed, and is then no longer counted") { bench in
      try await bench.prepare(
        .delivery(.enqueue(bench.delivery("1"), queueMax: 9)),
        .delivery(.bury(id: "1", at: Bench.noon, reason: "refused", keptUntil: Bench.noon.adding(millis: 10))))
      try await bench.prepare(.delivery(.remove(id: "1")))
      try bench.equal(try await bench.queue(afterMillis: 0), DeliveryQueue())
    },
  ]
}

extension Bench {
  func delivery(_ id: String, afterMillis: Int64 = 0) -> DeliveryRecord {
    let at = Bench.noon.adding(millis: afterMillis)
    return DeliveryRecord(
      id: id, channel: .textMessage, kind: "phone_code", sealed: [0, 1, 255], createdAt: at,
      expiresAt: at.adding(millis: 1_000))
  }

  func notice(_ id: String, afterMillis: Int64 = 0, mergeByte: UInt8 = 1) -> DeliveryRecord {
    var notice = delivery(id, afterMillis: afterMillis)
    (notice.kind, notice.priority) = ("linked", .notice)
    notice.mergeKey = Digest([UInt8](repeating: mergeByte, count: 32))
    return notice
  }

  func noticeLimits(countMax: Int = 9, afterMillis: Int64 = 0, queueMax: Int = 9) -> NoticeLimits {
    let count = ThrottleCount(
      key: Digest([UInt8](repeating: 200, count: 32)), kind: .noticesPerAccount,
      rule: ThrottleRule(countMax, inMillis: 10_000), at: Bench.noon.adding(millis: afterMillis), refusesBlocked: false)
    return NoticeLimits(count: count, queueMax: queueMax)
  }

  func queue(afterMillis: Int64, rowsMax: Int = 9) async throws -> DeliveryQueue {
    let at = Bench.noon.adding(millis: afterMillis)
    let classes = DeliveryPriority.allCases.map { (DeliveryClass(.textMessage, $0), rowsMax) }
    let facts = try await load {
      $0.deliveries = DueDeliveries(at: at, rowsMax: Dictionary(uniqueKeysWithValues: classes))
    }
    guard let queue = facts.deliveries else { throw BrokenPromise(description: "no queue was read") }
    return queue
  }
}
