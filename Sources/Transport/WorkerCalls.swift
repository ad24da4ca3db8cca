internal import GRPC
internal import Identity
internal import Observability
internal import Protobuf
internal import Reactor
internal import Services
internal import Tracing

/// Execution of calls: decided immediately, or by one task at a time whose end arrives as a command.
extension Worker {
  func run(_ call: ServerCall, _ message: Message, on connection: Connection) {
    guard case .unary(let start) = call.method.handler else { return }
    do {
      switch try start(message, call.context, arena) {
      case .answer(let bytes): connection.answer(call, bytes)
      case .task(let work):
        call.stage.launch()
        connection.awaitTask(call)
        launch(work, of: call, on: connection)
      }
    } catch {
      refuse(call, error, on: connection)
    }
  }

  /// Starts the call's single task.
  private func launch(
    _ work: @escaping @Sendable () async throws -> any ProtobufEncodable, of call: ServerCall, on connection: Connection
  ) {
    start(work, of: call, on: connection) { .answered(task: $0, $1) }
  }

  /// Starts a task of a streaming call, which continues after it.
  func launch(_ work: @escaping StreamWork, of call: ServerCall, on connection: Connection) {
    call.stage.launch()
    start(work, of: call, on: connection) { .worked(task: $0, $1) }
  }

  /// Starts a task, which begins immediately and always resumes on this thread. Its end arrives as a command.
  private func start<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value, of call: ServerCall, on connection: Connection,
    _ command: @escaping @Sendable (Ticket, Result<Value, any Error>) -> WorkerCommand
  ) {
    let (commandQueue, task) = (commandQueue, running.insert((call, connection)))
    let context = call.span?.context
    Task.immediate(executorPreference: commandQueue) {
      let result: Result<Value, any Error>
      do {
        if let context {
          result = .success(try await ServiceContext.$current.withValue(context) { try await work() })
        } else {
          result = .success(try await work())
        }
      } catch {
        result = .failure(error)
      }
      commandQueue.post(command(task, result))
    }
  }

  private func ended(_ task: Ticket) -> (call: ServerCall, connection: Connection) {
    guard let call = running.remove(task) else { preconditionFailure("a task ended twice") }
    return call
  }

  func answered(_ task: Ticket, _ result: Result<any ProtobufEncodable, any Error>) {
    let (call, connection) = ended(task)
    switch result {
    case .success(let message):
      switch call.stage {
      case .answered: break
      case .unheard:
        metrics.outcomes.ended(call.context)
        leave(call, .ok, on: connection)
      default:
        if !call.method.isLookUp { metrics.outcomes.ended(call.context) }
        if !call.method.isLookUp { log.call(call.context, outcome: "OK", tookNanos: nanos(of: call)) }
        connection.answer(call, message.encode(arena: arena))
      }
    case .failure(let error): refuse(call, error, on: connection)
    }
    stopWhenEmpty()
  }

  func worked(_ task: Ticket, _ result: Result<any Sendable, any Error>) {
    let (call, connection) = ended(task)
    switch result {
    // The work is committed, but the call did not complete.
    case .success where call.stage.isUnheard: leave(call, .cancelled, on: connection)
    case .success(let value): connection.worked(call, value)
    case .failure(let error): refuse(call, error, on: connection)
    }
    stopWhenEmpty()
  }

  /// Time since the turn in which a call began. Reads the clock, because a task may have ended within the same turn.
  private func nanos(of call: ServerCall) -> Int64 { monotonicNanos() - call.begunNanos }

  /// Ends a call without a response because its client has gone.
  func leave(_ call: ServerCall, _ code: Status.Code, on connection: Connection) {
    if call.isWorthALine {
      let isQuiet = code == .ok && call.method.isLookUp
      if !isQuiet {
        let outcome = StatusName.all[code.rawValue]
        log.call(call.context, outcome: outcome, tookNanos: nanos(of: call), clientGone: true)
      }
      metrics.clientGone()
    }
    connection.settle(call, code)
  }

  func refuse(_ call: ServerCall, _ error: any Error, on connection: Connection) {
    let error = call.reason(of: error, nowMillis: nowMillis)
    guard !call.stage.isAnswered else {
      // The client and the log already have the deadline status. Only an internal error still needs a line.
      if !(error is Failure) { log.call(call.context, error: error, tookNanos: nanos(of: call)) }
      return
    }
    let isGone = call.stage.isUnheard
    let status = Failures.status(of: error, arena: arena)
    connection.log(call, error, clientGone: isGone)
    metrics.failed(error, status.code)
    metrics.outcomes.failed(call.context, error, status.code)
    if isGone {
      metrics.clientGone()
      connection.settle(call, status.code)
    } else {
      connection.fail(call, status)
    }
  }
}
