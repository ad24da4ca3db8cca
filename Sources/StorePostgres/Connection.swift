import CPostgres
import Store

/// One connection in pipeline mode, used by one thread at a time. No method blocks.
@safe final class Connection {
  enum Result {
    case answer(QueryResult)
    case refused(state: String, constraint: String, message: String)
    /// An earlier step of the same round trip failed.
    case skipped
    /// The round trip is complete.
    case synced
    case broken(String)
    /// A step has no further results.
    case stepEnded
  }

  private let handle: OpaquePointer
  let socket: Int32

  /// Takes ownership of a connection that the connector thread has made and prepared.
  init(_ made: ReadyConnection) {
    unsafe handle = made.handle
    socket = unsafe PQsocket(handle)
  }

  deinit { unsafe PQfinish(handle) }

  // MARK: Sending

  func send(_ steps: [BoundStatement]) -> Bool {
    for step in steps { guard send(step) else { return false } }
    return unsafe PQpipelineSync(handle) == 1
  }

  private func send(_ step: BoundStatement) -> Bool {
    let count = step.places.count
    return unsafe step.bytes.withUnsafeBytes { bytes in
      unsafe withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: count + 1) { values in
        unsafe withUnsafeTemporaryAllocation(of: Int32.self, capacity: 2 * count + 1) { numbers in
          for (index, place) in step.places.enumerated() {
            let start = unsafe place.flatMap { unsafe bytes.baseAddress?.advanced(by: $0.lowerBound) }
            unsafe values.initializeElement(at: index, to: start?.assumingMemoryBound(to: CChar.self))
            unsafe numbers.initializeElement(at: index, to: Int32(place?.count ?? 0))
            unsafe numbers.initializeElement(at: count + index, to: 1)
          }
          return unsafe PQsendQueryPrepared(
            handle, step.statement.name, Int32(count), values.baseAddress, numbers.baseAddress,
            numbers.baseAddress?.advanced(by: count), 1) == 1
        }
      }
    }
  }

  enum Flush {
    case done
    /// The socket accepts no more data for now.
    case more
    case broken
  }

  func flush() -> Flush {
    switch unsafe PQflush(handle) {
    case 0: .done
    case 1: .more
    default: .broken
    }
  }

  // MARK: Receiving

  /// False: the connection is broken.
  func consume() -> Bool { unsafe PQconsumeInput(handle) == 1 && PQstatus(handle) == CONNECTION_OK }

  /// Whether more data must arrive before a result is available.
  var isBusy: Bool { unsafe PQisBusy(handle) == 1 }

  func next() -> Result {
    guard let result = unsafe PQgetResult(handle) else { return .stepEnded }
    let answer = unsafe QueryResult(result)
    switch unsafe PQresultStatus(result) {
    case PGRES_TUPLES_OK, PGRES_COMMAND_OK: return .answer(answer)
    case PGRES_PIPELINE_SYNC: return .synced
    case PGRES_PIPELINE_ABORTED: return .skipped
    default:
      guard let state = unsafe latchkey_postgres_state(result), unsafe PQstatus(handle) == CONNECTION_OK else {
        return .broken(fault)
      }
      return unsafe .refused(
        state: String(cString: state), constraint: text(latchkey_postgres_constraint(result)),
        message: text(latchkey_postgres_message(result)))
    }
  }

  private func text(_ start: UnsafePointer<CChar>?) -> String {
    guard let start = unsafe start else { return "" }
    return unsafe String(cString: start)
  }

  /// libpq's message about a broken connection, on one line.
  var fault: String { unsafe ReadyConnection.line(PQerrorMessage(handle)) }
}
