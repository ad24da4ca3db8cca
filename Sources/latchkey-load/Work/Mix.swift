/// An endless source of a scenario's iterations, chosen by weight.
final class Mix: IterationSource {
  /// One workload with its users.
  struct Part {
    var workload: WorkloadName
    var weight: Int
    var pool: Pool?
    /// Creates the work of an iteration. The user is nil if there is no pool.
    var make: (_ user: LoadUser?, _ generator: inout SeededGenerator) -> any Work
  }

  private let parts: [Part]
  private let choice: WeightedChoice
  private var generator: SeededGenerator

  init(_ parts: [Part], seed: UInt64) {
    self.parts = parts
    choice = WeightedChoice(parts.map(\.weight))
    generator = SeededGenerator(seed: seed)
  }

  func next() -> NextIteration {
    let row = choice.draw(&generator)
    let part = parts[row]
    let user = part.pool?.take(&generator)
    guard part.pool == nil || user != nil else {
      return .stuck("no users are left for \(part.workload.rawValue), because their iterations failed")
    }
    return .iteration(Iteration(row: row, work: part.make(user, &generator), user: user, pool: part.pool))
  }

  func ended(_ iteration: Iteration, failed: Bool) {
    if let user = iteration.user, !failed { iteration.pool?.giveBack(user) }
  }
}

/// A source of iterations that run once each, for preparing a run.
final class Once: IterationSource {
  private var remaining: ArraySlice<any Work>

  init(_ works: [any Work]) { remaining = works[...] }

  func next() -> NextIteration {
    guard let work = remaining.popFirst() else { return .none }
    return .iteration(Iteration(row: 0, work: work, user: nil, pool: nil))
  }

  func ended(_ iteration: Iteration, failed: Bool) {}
}
