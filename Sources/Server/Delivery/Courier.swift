internal import Delivery
internal import Identity
internal import Reactor
internal import Store
internal import Synchronization

/// Sends what waits in the store's queue: takes an attempt, sends, and notes what came of it. Several processes may do
/// so on one queue; what one of them took and did not settle, because it died, is due again after its pause.
final class Courier: Sendable {
  /// How often it looks where nobody rings: for what another process has queued, and for what is due again.
  private static let lookMillis: Int64 = 1_000

  private let environment: Environment
  private let templates: TemplateSet
  private let roads: [DeliveryChannel: any Road]
  private let schedule: Schedule
  private let metrics: ServerMetrics
  private let log: Log
  private let reading: LastingFailure
  private let underWay = Mutex<[DeliveryClass: Int]>([:])
  private let stopped = Atomic<Bool>(false)

  init(
    _ environment: Environment, templates: TemplateSet, roads: [DeliveryChannel: any Road], schedule: Schedule,
    metrics: ServerMetrics, log: Log
  ) {
    self.environment = environment
    self.templates = templates
    self.roads = roads
    self.schedule = schedule
    self.metrics = metrics
    self.log = log
    reading = LastingFailure(
      log, "the queue of messages cannot be read", over: "the queue of messages can be read again")
  }

  /// Takes no further message; `run` returns when those under way have ended.
  func stop() {
    stopped.store(true, ordering: .releasing)
    metrics.queueBell.ring()
  }

  /// Until it is told to stop.
  func run() async {
    await withDiscardingTaskGroup { group in
      while !stopped.load(ordering: .acquiring) {
        for (record, nextAttemptAt) in await takeDue() {
          count(record.deliveryClass, 1)
          group.addTask { [self] in
            await attempt(record, nextAttemptAt: nextAttemptAt)
            count(record.deliveryClass, -1)
            metrics.queueBell.ring()
          }
        }
        await metrics.queueBell.wait(millis: Courier.lookMillis)
      }
    }
  }

  private func count(_ each: DeliveryClass, _ delta: Int) {
    underWay.withLock { $0[each, default: 0] += delta }
  }

  /// What is due and was taken by nobody else, as far as there is room.
  private func takeDue() async -> [(DeliveryRecord, nextAttemptAt: Timestamp)] {
    let underWay = underWay.withLock { $0 }
    let now = environment.clock.now()
    var query = Query()
    query.deliveries = DueDeliveries(at: now, rowsMax: schedule.room(underWay: underWay, roads: roads.count))
    guard let queue = await find(query) else { return [] }
    metrics.saw(queue, now: now)
    var taken: [(DeliveryRecord, nextAttemptAt: Timestamp)] = []
    let chosen = schedule.choose(queue.due, underWay: underWay, roads: roads.count)
    for record in chosen where !stopped.load(ordering: .acquiring) {
      switch schedule.start(record, now: now, chance: environment.randomness.bytes(1)[0]) {
      case .bury(let reason): await bury(record, attempts: record.attempts, reason)
      case .attempt(let nextAttemptAt):
        // Another server may have a road for it.
        guard roads[record.channel] != nil else { continue }
        let claim = Write.claimDelivery(id: record.id, attempts: record.attempts, nextAttemptAt: nextAttemptAt)
        if await commit(claim) { taken.append((record, nextAttemptAt)) }
      }
    }
    return taken
  }

  private func find(_ query: Query) async -> DeliveryQueue? {
    do {
      let queue = try await environment.store.load(query).deliveries
      reading.passed()
      return queue
    } catch {
      reading.failed(error)
      return nil
    }
  }

  private func attempt(_ record: DeliveryRecord, nextAttemptAt: Timestamp) async {
    let attempts = record.attempts + 1
    let verdict = await send(record)
    let next = schedule.next(
      verdict, attempts: attempts, nextAttemptAt: nextAttemptAt, expiresAt: record.expiresAt)
    switch (next, verdict) {
    case (.remove, _):
      metrics.delivery(record, .sent, by: road(record))
      log.info("message sent", fields(record, attempts: attempts))
      // A message that cannot be noted as sent is sent again: better twice than never.
      _ = await commit(.removeDelivery(id: record.id))
    case (.bury(let reason), _): await bury(record, attempts: attempts, reason)
    case (.wait, .failed(let why)):
      metrics.delivery(record, .failed, by: road(record))
      log.info("message not sent yet", fields(record, attempts: attempts, why: why))
    case (.wait, _): break
    }
  }

  /// What this server lacks another may have: that is a failure, and nothing that is so for ever.
  private func send(_ record: DeliveryRecord) async -> Verdict {
    guard let message = environment.message(of: record) else { return .failed("it was sealed under another key") }
    guard let road = roads[record.channel] else { return .failed("no road is configured") }
    let letter = Letter(record, message)
    do {
      return await road.send(letter, try templates.words(letter))
    } catch {
      return .failed("template \(error)")
    }
  }

  private func bury(_ record: DeliveryRecord, attempts: Int, _ reason: String) async {
    let now = environment.clock.now()
    metrics.delivery(record, .buried, by: road(record))
    log.error("message given up", fields(record, attempts: attempts, why: reason))
    _ = await commit(
      .buryDelivery(id: record.id, at: now, reason: reason, keptUntil: now.adding(millis: schedule.keptMillis)))
  }

  private func commit(_ write: Write) async -> Bool {
    do {
      return try await environment.store.commit(Change([write]), fate: Fate()) == .committed
    } catch {
      log.error("the queue of messages cannot be written", ["why": "\(error)"])
      return false
    }
  }

  private func road(_ record: DeliveryRecord) -> String { roads[record.channel]?.name ?? "off" }

  /// Neither recipient nor contents.
  private func fields(_ record: DeliveryRecord, attempts: Int, why: String? = nil) -> [String: String] {
    var fields = ["attempt": "\(attempts)", "id": record.id, "kind": record.kind, "road": road(record)]
    if let why { fields["why"] = why }
    return fields
  }
}

extension Letter {
  init(_ record: DeliveryRecord, _ message: OutgoingMessage) {
    let recipient = switch message.recipient {
    case .email(let email): email
    case .phoneNumber(let number): number
    }
    self.init(
      id: record.id, channel: record.channel, kind: record.kind, recipient: recipient, locale: message.locale,
      values: message.values, createdAt: record.createdAt, expiresAt: record.expiresAt)
  }
}
