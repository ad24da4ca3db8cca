/// The iterations of a scenario without end, drawn by their weights.
final class Mix: IterationSource {
  /// One workload with the people who do it.
  struct Part {
    var workload: WorkloadName
    var weight: Int
    var pool: Pool?
    /// Somebody of the pool where there is one.
    var make: (_ person: Person?, _ generator: inout SeededGenerator) -> any Work
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
    let person = part.pool?.take(&generator)
    guard part.pool == nil || person != nil else {
      return .stuck("nobody is left for \(part.workload.rawValue): all were with iterations that failed")
    }
    return .iteration(Iteration(row: row, work: part.make(person, &generator), person: person, pool: part.pool))
  }

  func ended(_ iteration: Iteration, failed: Bool) {
    if let person = iteration.person, !failed { iteration.pool?.giveBack(person) }
  }
}

/// Iterations that are done once each: how a run is prepared.
final class Once: IterationSource {
  private var remaining: ArraySlice<any Work>

  init(_ works: [any Work]) { remaining = works[...] }

  func next() -> NextIteration {
    guard let work = remaining.popFirst() else { return .none }
    return .iteration(Iteration(row: 0, work: work, person: nil, pool: nil))
  }

  func ended(_ iteration: Iteration, failed: Bool) {}
}
