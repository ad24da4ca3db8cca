import Reactor
import Store

/// A lookup from a thread without its own connection.
enum ReadOrder: Sendable {
  case facts(Query, CheckedContinuation<Facts, any Error>)
  case methods(SignInMethodsQuery, CheckedContinuation<SignInMethodsRecord?, any Error>)
  case search(SearchQuery, CheckedContinuation<SearchResult, any Error>)
}

/// The reader thread. It serves all threads that are not attached.
final class ReadServer {
  private let reader: Reader
  private let queue: WorkQueue<ReadOrder>
  private let observer: (any StoreObserver)?
  private static let groupMax = 64

  init(_ reader: Reader, queue: WorkQueue<ReadOrder>, observer: (any StoreObserver)?) {
    self.reader = reader
    self.queue = queue
    self.observer = observer
  }

  /// Runs until the queue is closed. Opens each snapshot after it has taken the lookups, so the snapshot is as new as
  /// each call.
  func run() {
    while let orders = queue.take(atMost: ReadServer.groupMax) {
      for order in orders {
        switch order {
        case .facts(let query, let answer):
          answer.resume(with: look { reader throws(SQLiteError) in try reader.facts(query) })
        case .methods(let query, let answer):
          answer.resume(with: look { reader throws(SQLiteError) in try reader.methods(query) })
        case .search(let query, let answer):
          answer.resume(with: look { reader throws(SQLiteError) in try reader.search(query) })
        }
      }
      reader.endSnapshot()
    }
  }

  private func look<Value>(_ look: (Reader) throws(SQLiteError) -> Value) -> Result<Value, any Error> {
    do throws(SQLiteError) {
      return .success(try look(reader))
    } catch {
      error.report(to: observer)
      return .failure(error.storeError)
    }
  }
}
