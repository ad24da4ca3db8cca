internal import Delivery
internal import Encodings
internal import Identity
internal import Observability
internal import Reactor
internal import Store
internal import Synchronization
internal import Tracing

/// Worker that sends queued messages: claims an attempt, sends the message and records the result. Several processes
/// may share one queue. If a process dies during an attempt, the message is due again after its pause.
final class DeliveryWorker: Sendable {
  /// Poll interval for messages that another process queued, and for retries.
  private static let lookMillis: Int64 = 1_000

  private static let errorBytesMax = 500

  private let environment: Environment
  /// Templates and transports, which a reload of the configuration replaces. Each message uses the present ones.
  struct Means: Sendable {
    let templates: TemplateSet
    let transports: [DeliveryChannel: any MessageTransport]
  }

  private let means: Mutex<Means>
  private let schedule: Schedule
  private let metrics: ServerMetrics
  private let tracer: CallTracer?
  private let log: Log
  private let reading: LastingFailure
  private let underWay = Mutex<[DeliveryClass: Int]>([:])
  private let stopped = Atomic<Bool>(false)

  init(
    _ environment: Environment, _ means: Means, schedule: Schedule, metrics: ServerMetrics, _ tracer: CallTracer?,
    log: Log
  ) {
    self.tracer = tracer
    self.environment = environment
    self.means = Mutex(means)
    self.schedule = schedule
    self.metrics = metrics
    self.log = log
    reading = LastingFailure(
      log, "the delivery queue cannot be read", over: "the delivery queue can be read again")
  }

  /// Replaces templates and transports.
  func use(_ means: Means) { self.means.withLock { $0 = means } }

  private var transports: [DeliveryChannel: any MessageTransport] { means.withLock(\.transports) }

  /// Stops claiming messages; `run` returns when attempts in progress have ended.
  func stop() {
    stopped.store(true, ordering: .releasing)
    metrics.queueEvent.signal()
  }

  /// Runs until `stop`.
  func run() async {
    await withDiscardingTaskGroup { group in
      while !stopped.load(ordering: .acquiring) {
        for (record, nextAttemptAt) in await takeDue() {
          count(record.deliveryClass, 1)
          group.addTask { [self] in
            await attempt(record, nextAttemptAt: nextAttemptAt)
            count(record.deliveryClass, -1)
            metrics.queueEvent.signal()
          }
        }
        await metrics.queueEvent.wait(millis: DeliveryWorker.lookMillis)
      }
    }
  }

  private func count(_ each: DeliveryClass, _ delta: Int) {
    underWay.withLock { $0[each, default: 0] += delta }
  }

  /// Claims due messages, up to the free capacity, that no other process has claimed.
  private func takeDue() async -> [(DeliveryRecord, nextAttemptAt: Timestamp)] {
    let underWay = underWay.withLock { $0 }
    let now = environment.clock.now()
    var query = Query()
    query.deliveries = DueDeliveries(at: now, rowsMax: schedule.room(underWay: underWay, transports: transports.count))
    guard let queue = await find(query) else { return [] }
    metrics.saw(queue, now: now)
    var taken: [(DeliveryRecord, nextAttemptAt: Timestamp)] = []
    let chosen = schedule.choose(queue.due, underWay: underWay, transports: transports.count)
    for record in chosen where !stopped.load(ordering: .acquiring) {
      switch schedule.start(record, now: now, chance: environment.randomness.bytes(1)[0]) {
      case .bury(let reason): await bury(record, attempts: record.attempts, reason)
      case .attempt(let nextAttemptAt):
        // Another server may have a transport for it.
        guard transports[record.channel] != nil else { continue }
        let claim = Write.delivery(.claim(id: record.id, attempts: record.attempts, nextAttemptAt: nextAttemptAt))
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
    // A trace of its own, because the call that queued the message may have ended long ago.
    let span = tracer?.startTrace("deliver \(record.kind)", .client)
    let verdict = await send(record)
    span?.end(record, by: transport(record), verdict)
    let next = schedule.next(
      verdict, attempts: attempts, nextAttemptAt: nextAttemptAt, expiresAt: record.expiresAt)
    switch (next, verdict) {
    case (.remove, _):
      metrics.delivery(record, .sent, by: transport(record))
      log.info("message sent", fields(record, attempts: attempts))
      // If the removal fails, the message is sent again: a duplicate is better than a lost message.
      let now = environment.clock.now()
      let keptUntil = now.adding(millis: environment.policy.failureLifetimeMillis)
      _ = await commit(.delivery(.removeSent(id: record.id, at: now, keptUntil: keptUntil)))
    case (.bury(let reason), _): await bury(record, attempts: attempts, reason)
    case (.wait, .failed(let why)):
      metrics.delivery(record, .failed, by: transport(record))
      log.info("message not sent yet", fields(record, attempts: attempts, why: why))
      _ = await commit(.delivery(.noteError(id: record.id, error: DeliveryWorker.shown(why))))
    case (.wait, _): break
    }
  }

  /// Sends a message. Missing keys or transports are temporary failures, since another server may have them.
  private func send(_ record: DeliveryRecord) async -> Verdict {
    guard let opened = environment.message(of: record) else { return .failed("the message is sealed with another key") }
    let means = means.withLock { $0 }
    guard let transport = means.transports[record.channel] else { return .failed("no transport is configured") }
    let message = DeliveryMessage(record, opened)
    do {
      return await transport.send(message, try means.templates.words(message))
    } catch {
      return .failed("template \(error)")
    }
  }

  private func bury(_ record: DeliveryRecord, attempts: Int, _ reason: String) async {
    let now = environment.clock.now()
    metrics.delivery(record, .buried, by: transport(record))
    log.error("message given up", fields(record, attempts: attempts, why: reason))
    let keptUntil = now.adding(millis: schedule.keptMillis)
    _ = await commit(
      .delivery(.bury(id: record.id, at: now, reason: DeliveryWorker.shown(reason), keptUntil: keptUntil)))
  }

  /// Limits an error for administrators, which may quote a mail relay.
  private static func shown(_ error: String) -> String {
    ShownText.cut(ShownText.cleaned(error), bytesMax: errorBytesMax)
  }

  private func commit(_ write: Write) async -> Bool {
    do {
      return try await environment.store.commit(Change([write]), commitDecision: CommitDecision()) == .committed
    } catch {
      log.error("the delivery queue cannot be written", ["why": "\(error)"])
      return false
    }
  }

  private func transport(_ record: DeliveryRecord) -> String { transports[record.channel]?.name ?? "off" }

  /// Fields for the log, without recipient and contents.
  private func fields(_ record: DeliveryRecord, attempts: Int, why: String? = nil) -> [String: String] {
    var fields = ["attempt": "\(attempts)", "id": record.id, "kind": record.kind, "transport": transport(record)]
    if let why { fields["why"] = why }
    return fields
  }
}

extension DeliveryMessage {
  init(_ record: DeliveryRecord, _ message: OutgoingMessage) {
    let recipient =
      switch message.recipient {
      case .email(let email): email
      case .phoneNumber(let number): number
      }
    self.init(
      id: record.id, channel: record.channel, kind: record.kind, recipient: recipient, locale: message.locale,
      values: message.values, createdAt: record.createdAt, expiresAt: record.expiresAt)
  }
}

extension RecordedSpan {
  /// Ends the span of an attempt, without recipient and contents.
  fileprivate func end(_ record: DeliveryRecord, by transport: String, _ verdict: Verdict) {
    attributes["latchkey.message.kind"] = record.kind
    attributes["latchkey.message.transport"] = transport
    attributes["latchkey.message.attempt"] = record.attempts + 1
    if case .failed = verdict { setStatus(SpanStatus(code: .error)) }
    end()
  }
}
