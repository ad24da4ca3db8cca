import Reactor

/// A connection with the trips that are under way on it, the oldest first.
final class Lane {
  let connection: Connection
  private var trips: [UnderWay] = []
  /// It is inside a transaction that the trip before the present one has left open.
  private var isInTransaction = false
  private var carriesChange = false
  /// A transaction that failed is being ended: what is sent before the answer would fail in it.
  private var rollbacks = 0
  /// Where the last answer came, or the first trip left.
  private var lastMillis: Int64 = 0
  /// Trips that the server has ended.
  private var answers = 0
  /// Whether the socket is watched for room, too.
  var awaitsRoom = false
  private(set) var isWorn = false
  private(set) var fault: String?

  private struct UnderWay {
    let trip: Trip
    var answers: [Answer] = []
    var failure: Failure?
    var stepsEnded = 0
    var hasResult = false
  }

  init(_ connection: Connection) { self.connection = connection }

  var isLost: Bool { fault != nil }
  /// Nothing is under way.
  var isIdle: Bool { trips.isEmpty }
  var takesChange: Bool { trips.isEmpty && !isLost && !isWorn }

  /// - Parameter most: of trips under way.
  func takesReading(_ most: Int) -> Bool {
    !carriesChange && rollbacks == 0 && !isLost && !isWorn && trips.count < most
  }

  /// An answer has been due for so long that none will come.
  func isSilent(at now: Int64, _ options: Options) -> Bool {
    guard let trip = trips.first?.trip else { return false }
    return now - lastMillis > (trip.statementMillis ?? options.statementMillis) + options.slackMillis
  }

  func carry(_ trip: Trip, change: Bool) {
    if trips.isEmpty { lastMillis = monotonicMillis() }
    carriesChange = change
    send(trip)
  }

  private func send(_ trip: Trip) {
    trips.append(UnderWay(trip: trip))
    if !connection.send(trip.steps) { lose(connection.fault) }
  }

  /// Takes what has arrived and tells who waits for it. True: the server has answered something.
  func receive() -> Bool {
    guard !isLost else { return false }
    let isSound = connection.consume()
    let before = answers
    collect()
    if !isSound { lose(connection.fault) }
    return answers != before
  }

  /// The connection counts as lost from now on; who waits for it is told by `abandon`.
  func lose(_ text: String) { if fault == nil { fault = text.isEmpty ? "the connection was closed" : text } }

  /// Tells everybody whose answer is still out. The last call of a lane.
  func abandon() {
    let text = fault ?? "the connection was closed"
    lose(text)
    let abandoned = trips
    trips = []
    for underWay in abandoned { _ = underWay.trip.then(.failure(.lost(text))) }
  }

  func collect() {
    while !isLost, !trips.isEmpty, !connection.isBusy {
      switch connection.next() {
      case .answer(let answer):
        trips[0].answers.append(answer)
        trips[0].hasResult = true
      case .skipped: trips[0].hasResult = true
      case .refused(let state, let constraint, let message):
        let error = ServerError(step: trips[0].stepsEnded, state: state, constraint: constraint, message: message)
        if trips[0].failure == nil { trips[0].failure = .refused(error) }
        trips[0].hasResult = true
        if error.endsConnection { isWorn = true }
      case .stepEnded:
        guard trips[0].hasResult else { return lose("the server answered out of turn") }
        trips[0].hasResult = false
        trips[0].stepsEnded += 1
      case .synced: end(trips.removeFirst())
      case .broken(let text): lose(text)
      }
    }
  }

  /// What a failure came to is known only here: the server has said that it is done with the trip.
  private func end(_ underWay: UnderWay) {
    lastMillis = monotonicMillis()
    answers += 1
    let trip = underWay.trip
    let wasInTransaction = isInTransaction || trip.begins
    isInTransaction = wasInTransaction && !trip.ends && underWay.failure == nil
    let next = trip.then(underWay.failure.map(Ending.failure) ?? .success(underWay.answers))
    if let next { return send(next) }
    carriesChange = false
    if isInTransaction || (wasInTransaction && underWay.failure != nil) { rollBack() }
  }

  private func rollBack() {
    isInTransaction = false
    rollbacks += 1
    send(
      .single(Step(.rollback)) { [unowned self] ending in
        rollbacks -= 1
        if case .failure = ending { isWorn = true }
        return nil
      })
  }
}
