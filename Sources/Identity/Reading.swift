package import Store

/// A read-only call for one request: its query, and the answer that it makes of the records.
///
/// Neither waits, so that a reactor can answer immediately if the store can.
package protocol Reading: Sendable {
  associatedtype Answer
  var query: Query { get }
  func answer(_ facts: Facts) throws -> Answer
}

extension Environment {
  /// Answers without waiting. Returns nil if the store has to wait. `read` waits.
  package func readNow<R: Reading>(_ reading: R) throws -> R.Answer? {
    do {
      guard let facts = try store.now(reading.query) else { return nil }
      return try reading.answer(facts)
    } catch let error as StoreError {
      throw Failure(storeError: error)
    }
  }

  package func read<R: Reading>(_ reading: R) async throws -> R.Answer {
    if let answer = try readNow(reading) { return answer }
    return try reading.answer(try await load(reading.query))
  }
}
