internal import GRPC
internal import Identity
internal import Reactor
internal import Services
internal import API

/// What calls have done: decided on the spot, or by one task at a time whose end comes as a letter.
extension Worker {
  func run(_ call: ServerCall, _ message: Message, on connection: Connection) {
    guard case .unary(let start) = call.method.handler else { return }
    do {
      switch try start(message, call.context, arena) {
      case .answer(let bytes): connection.answer(call, bytes)
      case .task(let work):
        call.stage = .running
        connection.awaitTask(call)
        launch(work, of: call, on: connection)
      }
    } catch {
      refuse(call, error, on: connection)
    }
  }

  /// The call's one task: it begins right here, and whatever resumes it does so on this thread.
  private func launch(
    _ work: @escaping @Sendable () async throws -> any ProtobufEncodable, of call: ServerCall, on connection: Connection
  ) {
    let (mailbox, task) = (mailbox, running.add(call, on: connection))
    call.hasTask = true
    Task.immediate(executorPreference: mailbox) {
      let result: Result<any ProtobufEncodable, any Error>
      do { result = .success(try await work()) } catch { result = .failure(error) }
      mailbox.post(.answered(task: task, result))
    }
  }

  /// The same for a call that goes on after it.
  func launch(_ work: @escaping StreamWork, of call: ServerCall, on connection: Connection) {
    let (mailbox, task) = (mailbox, running.add(call, on: connection))
    call.hasTask = true
    Task.immediate(executorPreference: mailbox) {
      let result: Result<any Sendable, any Error>
      do { result = .success(try await work()) } catch { result = .failure(error) }
      mailbox.post(.worked(task: task, result))
    }
  }

  func answered(_ task: Int, _ result: Result<any ProtobufEncodable, any Error>) {
    let (call, connection) = ended(task)
    switch result {
    case .success(let message):
      switch call.stage {
      case .answered: break
      case .unheard: leave(call, .ok, on: connection)
      default:
        if !call.method.isLookUp { log.call(call.context, outcome: "OK") }
        connection.answer(call, message.encode(arena: arena))
      }
    case .failure(let error): refuse(call, error, on: connection)
    }
    stopWhenEmpty()
  }

  func worked(_ task: Int, _ result: Result<any Sendable, any Error>) {
    let (call, connection) = ended(task)
    switch result {
    // What was done is done, but not the call.
    case .success where call.stage == .unheard: leave(call, .cancelled, on: connection)
    case .success(let value): connection.worked(call, value)
    case .failure(let error): refuse(call, error, on: connection)
    }
    stopWhenEmpty()
  }

  private func ended(_ task: Int) -> (ServerCall, Connection) {
    let (call, connection) = running.remove(task)
    call.hasTask = false
    return (call, connection)
  }

  /// The call ends without an answer, because its client has gone.
  func leave(_ call: ServerCall, _ code: Status.Code, on connection: Connection) {
    if call.isWorthALine {
      let isQuiet = code == .ok && call.method.isLookUp
      if !isQuiet { log.call(call.context, outcome: StatusName.all[code.rawValue], clientGone: true) }
      metrics.clientGone()
    }
    connection.settle(call, code)
  }

  func refuse(_ call: ServerCall, _ error: any Error, on connection: Connection) {
    let error = call.reason(of: error, nowMillis: nowMillis)
    guard call.stage != .answered else {
      // The client was told that its time is up, and so was the log. Only a mistake of ours is still news.
      if !(error is Failure) { log.call(call.context, error: error) }
      return
    }
    let isGone = call.stage == .unheard
    let status = Failures.status(of: error, arena: arena)
    connection.log(call, error, clientGone: isGone)
    metrics.failed(error, status.code)
    if isGone {
      metrics.clientGone()
      connection.settle(call, status.code)
    } else {
      connection.fail(call, status)
    }
  }
}
