internal import GRPC
internal import HTTP2
internal import Reactor
internal import Services
internal import Wire

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
        launch(work, connection.ticket, call.stream.id)
      }
    } catch {
      refuse(call, error, on: connection)
    }
  }

  /// The call's one task: it begins right here, and whatever resumes it does so on this thread.
  private func launch(
    _ work: @escaping @Sendable () async throws -> any WireEncodable, _ ticket: Ticket, _ streamID: Int32
  ) {
    let mailbox = mailbox
    Task.immediate(executorPreference: mailbox) {
      let result: Result<any WireEncodable, any Error>
      do { result = .success(try await work()) } catch { result = .failure(error) }
      mailbox.post(.answered(ticket, streamID: streamID, result))
    }
  }

  /// The same for a call that goes on after it.
  func launch(_ work: @escaping StreamWork, for connection: Connection, _ streamID: Int32) {
    let (mailbox, ticket) = (mailbox, connection.ticket)
    Task.immediate(executorPreference: mailbox) {
      let result: Result<any Sendable, any Error>
      do { result = .success(try await work()) } catch { result = .failure(error) }
      mailbox.post(.worked(ticket, streamID: streamID, result))
    }
  }

  func answered(_ ticket: Ticket, _ streamID: Int32, _ result: Result<any WireEncodable, any Error>) {
    guard let (connection, call) = call(ticket, streamID) else { return }
    switch result {
    case .success(let message):
      log.call(call.context, outcome: "OK")
      connection.answer(call, message.encode(arena: arena))
    case .failure(let error): refuse(call, error, on: connection)
    }
  }

  func worked(_ ticket: Ticket, _ streamID: Int32, _ result: Result<any Sendable, any Error>) {
    guard let (connection, call) = call(ticket, streamID) else { return }
    connection.worked(call, result)
  }

  /// nil: it has ended since.
  private func call(_ ticket: Ticket, _ streamID: Int32) -> (Connection, ServerCall)? {
    guard let connection = connections[ticket],
      let call = connection.session?.sink.stream(streamID)?.call as? ServerCall
    else { return nil }
    return (connection, call)
  }

  func refuse(_ call: ServerCall, _ error: any Error, on connection: Connection) {
    let status = Failures.status(of: error, arena: arena)
    log.call(call.context, error: error)
    metrics.failed(error, status.code)
    connection.fail(call, status)
  }
}
