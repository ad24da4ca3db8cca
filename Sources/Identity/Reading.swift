package import Store

/// A call that only reads, made for one request: what it looks up, and what it makes of what was found. Neither waits,
/// so that a reactor answers on the spot where the store can.
package protocol Reading: Sendable {
  associatedtype Answer
  var query: Query { get }
  func answer(_ facts: Facts) throws -> Answer
}

extension Environment {
  /// nil: the store has to wait; `read` does.
  package func readNow<R: Reading>(_ reading: R) throws -> R.Answer? {
    let query = reading.query
    if query == Query() { return try reading.answer(Facts()) }
    do {
      guard let facts = try store.now(query) else { return nil }
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
