import Reactor

/// A connection with its round trips in progress, oldest first.
final class Pipeline {
  let connection: Connection
  private let counters: StoreCounters
  private var roundTrips: [UnderWay] = []
  /// Whether the previous round trip has left a transaction open.
  private var isInTransaction = false
  private var carriesChange = false
  /// The number of rollbacks in progress. Requests sent before their response would fail in the aborted transaction.
  private var rollbacks = 0
  /// When the last response arrived, or the first round trip was sent.
  private var lastMillis: Int64 = 0
  /// The number of round trips that the server has completed.
  private var answers = 0
  /// Whether the socket is watched for writability as well.
  var awaitsRoom = false
  private(set) var isWorn = false
  private(set) var fault: String?

  private struct UnderWay {
    let roundTrip: RoundTrip
    var answers: [QueryResult] = []
    var failure: RequestError?
    var stepsEnded = 0
    var hasResult = false
  }

  init(_ connection: Connection, _ counters: StoreCounters) {
    self.connection = connection
    self.counters = counters
  }

  var isLost: Bool { fault != nil }
  /// Whether no round trip is in progress.
  var isIdle: Bool { roundTrips.isEmpty }
  var takesChange: Bool { roundTrips.isEmpty && !isLost && !isWorn }

  /// - Parameter most: the largest number of round trips in progress.
  func takesReading(_ most: Int) -> Bool {
    !carriesChange && rollbacks == 0 && !isLost && !isWorn && roundTrips.count < most
  }

  /// Whether a response is so late that none will come.
  func isSilent(at now: Int64, _ options: Options) -> Bool {
    guard let roundTrip = roundTrips.first?.roundTrip else { return false }
    return now - lastMillis > (roundTrip.statementMillis ?? options.statementMillis) + options.slackMillis
  }

  func carry(_ roundTrip: RoundTrip, change: Bool) {
    if roundTrips.isEmpty { lastMillis = monotonicMillis() }
    carriesChange = change
    send(roundTrip)
  }

  private func send(_ roundTrip: RoundTrip) {
    roundTrips.append(UnderWay(roundTrip: roundTrip))
    if !connection.send(roundTrip.steps) { lose(connection.fault) }
  }

  /// Processes what has arrived and passes results to the requests. True: the server has completed a round trip.
  func receive() -> Bool {
    guard !isLost else { return false }
    let isSound = connection.consume()
    let before = answers
    collect()
    if !isSound { lose(connection.fault) }
    return answers != before
  }

  /// Marks the connection as lost. `abandon` fails its requests.
  func lose(_ text: String) { if fault == nil { fault = text.isEmpty ? "the connection was closed" : text } }

  /// Fails all requests in progress. Must be the last call.
  func abandon() {
    let text = fault ?? "the connection was closed"
    lose(text)
    let abandoned = roundTrips
    roundTrips = []
    for underWay in abandoned { _ = underWay.roundTrip.then(.failure(.lost(text))) }
  }

  func collect() {
    while !isLost, !roundTrips.isEmpty, !connection.isBusy {
      switch connection.next() {
      case .answer(let answer):
        roundTrips[0].answers.append(answer)
        roundTrips[0].hasResult = true
      case .skipped: roundTrips[0].hasResult = true
      case .refused(let state, let constraint, let message):
        let error = ServerError(step: roundTrips[0].stepsEnded, state: state, constraint: constraint, message: message)
        if roundTrips[0].failure == nil { roundTrips[0].failure = .refused(error) }
        roundTrips[0].hasResult = true
        counters.report(error)
        if error.endsConnection { isWorn = true }
      case .stepEnded:
        guard roundTrips[0].hasResult else { return lose("the server sent an unexpected response") }
        roundTrips[0].hasResult = false
        roundTrips[0].stepsEnded += 1
      case .synced: end(roundTrips.removeFirst())
      case .broken(let text): lose(text)
      }
    }
  }

  /// Ends a round trip. The outcome of a failure is known only now, when the server has finished the round trip.
  private func end(_ underWay: UnderWay) {
    lastMillis = monotonicMillis()
    answers += 1
    let roundTrip = underWay.roundTrip
    let wasInTransaction = isInTransaction || roundTrip.begins
    isInTransaction = wasInTransaction && !roundTrip.ends && underWay.failure == nil
    let next = roundTrip.then(underWay.failure.map(RoundTripResult.failure) ?? .success(underWay.answers))
    if let next { return send(next) }
    carriesChange = false
    if isInTransaction || (wasInTransaction && underWay.failure != nil) { rollBack() }
  }

  private func rollBack() {
    isInTransaction = false
    rollbacks += 1
    send(
      .single(BoundStatement(.rollback)) { [unowned self] ending in
        rollbacks -= 1
        if case .failure = ending { isWorn = true }
        return nil
      })
  }
}
