import Store

extension Promise {
  static let deliveries = [
    Promise("a message reads back as it was written, from the moment it is due, the longest due first") { bench in
      let (one, two) = (bench.delivery("1"), bench.delivery("2", afterMillis: 5))
      try await bench.prepare(.enqueueDelivery(two, queueMax: 9), .enqueueDelivery(one, queueMax: 9))
      try bench.equal(try await bench.queue(afterMillis: -1).due, [])
      try bench.equal(try await bench.queue(afterMillis: 4).due, [one])
      let queue = try await bench.queue(afterMillis: 5)
      try bench.equal(
        queue, DeliveryQueue(due: [one, two], waitingCount: 2, buriedCount: 0, oldestCreatedAt: one.createdAt))
      try bench.equal(try await bench.queue(afterMillis: 5, rowsMax: 1).due, [one])
      try bench.equal(try await bench.queue(afterMillis: 5, rowsMax: 0).waitingCount, 2)
    },
    Promise("messages of each channel are asked for apart, so that many of one hide none of another") { bench in
      for (id, channel, due) in [("1", .mail, 0), ("2", .mail, 1), ("3", .textMessage, 3), ("4", .textMessage, 2)]
        as [(String, DeliveryChannel, Int64)]
      {
        var delivery = bench.delivery(id, afterMillis: due)
        delivery.channel = channel
        try await bench.prepare(.enqueueDelivery(delivery, queueMax: 9))
      }
      func due(_ rowsMax: [DeliveryChannel: Int]) async throws -> [String] {
        let wanted = DueDeliveries(at: Bench.noon.adding(millis: 3), rowsMax: rowsMax)
        return try bench.require(try await bench.load { $0.deliveries = wanted }.deliveries).due.map(\.id)
      }
      try bench.equal(try await due([.mail: 9, .textMessage: 9]), ["1", "2", "4", "3"])
      try bench.equal(try await due([.mail: 1, .textMessage: 1]), ["1", "4"])
      try bench.equal(try await due([.textMessage: 9]), ["4", "3"])
    },
    Promise("an attempt is taken once, sets the next, and leaves the message in the queue") { bench in
      var one = bench.delivery("1")
      try await bench.prepare(.enqueueDelivery(one, queueMax: 9))
      let next = Bench.noon.adding(millis: 20)
      let claim = Write.claimDelivery(id: "1", attempts: 0, nextAttemptAt: next)
      try bench.equal(try await bench.commit(claim), .committed)
      try bench.equal(try await bench.commit(claim), .stale)
      try bench.equal(
        try await bench.commit(.claimDelivery(id: "2", attempts: 0, nextAttemptAt: next)), .stale)
      try bench.equal(try await bench.queue(afterMillis: 19).due, [])
      one.attempts = 1
      one.nextAttemptAt = next
      try bench.equal(try await bench.queue(afterMillis: 20).due, [one])
      try bench.equal(
        try await bench.commit(.claimDelivery(id: "1", attempts: 1, nextAttemptAt: next)), .committed)
    },
    Promise("the queue holds its maximum, and what was sent or buried leaves its place") { bench in
      func enqueue(_ id: String) async throws -> Outcome {
        try await bench.commit(.enqueueDelivery(bench.delivery(id), queueMax: 1))
      }
      try bench.equal(try await enqueue("1"), .committed)
      try bench.equal(try await enqueue("2"), .limited(.deliveries))
      try await bench.prepare(.removeDelivery(id: "1"))
      try await bench.prepare(.removeDelivery(id: "1"))
      try bench.equal(try await enqueue("2"), .committed)
      try await bench.prepare(.buryDelivery(id: "2", at: Bench.noon, reason: "why", keptUntil: Bench.noon))
      try bench.equal(try await enqueue("3"), .committed)
      try bench.equal(try await enqueue("4"), .limited(.deliveries))
    },
    Promise("a message put in and taken out by one change leaves nothing, and a full queue refuses it") { bench in
      func passThrough() async throws -> Outcome {
        try await bench.commit(.enqueueDelivery(bench.delivery("1"), queueMax: 1), .removeDelivery(id: "1"))
      }
      try bench.equal(try await passThrough(), .committed)
      try bench.equal(try await bench.queue(afterMillis: 0), DeliveryQueue())
      try await bench.prepare(.enqueueDelivery(bench.delivery("2"), queueMax: 1))
      try bench.equal(try await passThrough(), .limited(.deliveries))
      try bench.equal(try await bench.queue(afterMillis: 0).waitingCount, 1)
    },
    Promise("a buried message is due no more, is counted once, and a sweep takes it when it was kept") { bench in
      try await bench.prepare(.enqueueDelivery(bench.delivery("1"), queueMax: 9))
      let bury = Write.buryDelivery(
        id: "1", at: Bench.noon, reason: "refused", keptUntil: Bench.noon.adding(millis: 10))
      try await bench.prepare(bury)
      try await bench.prepare(bury)
      try bench.equal(try await bench.queue(afterMillis: 9), DeliveryQueue(buriedCount: 1))
      try bench.equal(
        try await bench.commit(.claimDelivery(id: "1", attempts: 0, nextAttemptAt: Bench.noon)), .stale)
      try bench.equal(try await bench.store.sweep(at: Bench.noon.adding(millis: 9), rowsMax: 9), 0)
      try bench.equal(try await bench.store.sweep(at: Bench.noon.adding(millis: 10), rowsMax: 9), 1)
      try bench.equal(try await bench.queue(afterMillis: 10), DeliveryQueue())
      try await bench.prepare(bury, .removeDelivery(id: "1"))
    },
    Promise("a buried message can be removed, and is counted no more") { bench in
      try await bench.prepare(
        .enqueueDelivery(bench.delivery("1"), queueMax: 9),
        .buryDelivery(id: "1", at: Bench.noon, reason: "refused", keptUntil: Bench.noon.adding(millis: 10)))
      try await bench.prepare(.removeDelivery(id: "1"))
      try bench.equal(try await bench.queue(afterMillis: 0), DeliveryQueue())
    },
    Promise("of two who take one attempt at once, one gets it") { bench in
      try await bench.prepare(.enqueueDelivery(bench.delivery("1"), queueMax: 9))
      let next = Bench.noon.adding(millis: 20)
      async let left = bench.commit(.claimDelivery(id: "1", attempts: 0, nextAttemptAt: next))
      async let right = bench.commit(.claimDelivery(id: "1", attempts: 0, nextAttemptAt: next))
      let outcomes = try await [left, right]
      try bench.equal(outcomes.filter { $0 == .committed }.count, 1)
      try bench.equal(outcomes.filter { $0 == .stale }.count, 1)
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

  func queue(afterMillis: Int64, rowsMax: Int = 9) async throws -> DeliveryQueue {
    let at = Bench.noon.adding(millis: afterMillis)
    let facts = try await load { $0.deliveries = DueDeliveries(at: at, rowsMax: [.textMessage: rowsMax]) }
    guard let queue = facts.deliveries else { throw BrokenPromise(description: "no queue was read") }
    return queue
  }
}
