internal import Identity

/// The rows of a batch. A row without the right shape is rejected alone, like one that the account's state rejects.
struct BatchRows<Row: Sendable>: Sendable {
  private let rows: [(name: String, row: Result<Row, Failure>)]

  /// - Parameters:
  ///   - name: what the row is about. Rows with the same name count as one.
  ///   - shape: checks one message.
  init<Message>(_ messages: [Message], name: (Message) -> String, shape: (Message) throws -> Row) throws {
    rows = try messages.map { message -> (name: String, row: Result<Row, Failure>) in
      do {
        return (name(message), .success(try shape(message)))
      } catch let failure as Failure {
        return (name(message), .failure(failure))
      }
    }
  }

  /// The rows with the right shape.
  var valid: [Row] { rows.compactMap { try? $0.row.get() } }

  /// Returns what became of all rows.
  /// - Parameter verdicts: those of `valid`, in order.
  func outcome(_ verdicts: [AccountBatch.Verdict]) -> BatchOutcome {
    var outcome = BatchOutcome()
    var rest = verdicts[...]
    for (index, (name, row)) in rows.enumerated() {
      let verdict: AccountBatch.Verdict =
        switch row {
        case .success: rest.popFirst() ?? .unchanged
        case .failure(let failure): .refused(failure)
        }
      outcome.add(verdict, of: name, at: Int32(clamping: index))
    }
    return outcome
  }
}

/// What became of the rows of a batch.
struct BatchOutcome {
  private var changedNames: Set<String> = []
  private var unchangedNames: Set<String> = []
  private(set) var refused: [(row: Int32, name: String, failure: Failure)] = []

  var changed: Int32 { Int32(clamping: changedNames.count) }
  var unchanged: Int32 { Int32(clamping: unchangedNames.subtracting(changedNames).count) }

  fileprivate mutating func add(_ verdict: AccountBatch.Verdict, of name: String, at row: Int32) {
    switch verdict {
    case .done: changedNames.insert(name)
    case .unchanged: unchangedNames.insert(name)
    case .refused(let failure): refused.append((row, name, failure))
    }
  }
}
