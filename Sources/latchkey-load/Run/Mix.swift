/// An iteration, with its user and the pool to return the user to.
struct Iteration {
  /// The row in the report.
  let row: Int
  let first: Step
  let user: LoadUser
  let pool: Pool?
}

/// A source of iterations.
protocol IterationSource: AnyObject {
  /// Returns the next iteration; nil if there are no more. Throws to end the run early.
  func next() throws(RunError) -> Iteration?
  /// Reports the end of an iteration, and whether one of its calls failed.
  func ended(_ iteration: Iteration, failed: Bool)
}

/// The iterations of a workload: its users, and the first step of each iteration.
struct Iterations {
  let pool: Pool
  let first: (LoadUser, inout SeededGenerator) -> Step

  static func withoutUsers(_ first: @escaping (inout SeededGenerator) -> Step) -> Iterations {
    Iterations(pool: Pool([LoadUser()], isExclusive: false)) { first(&$1) }
  }

  /// Iterations that do not change their user.
  static func shared(_ users: [LoadUser], _ first: @escaping (LoadUser) -> Step) -> Iterations {
    Iterations(pool: Pool(users, isExclusive: false)) { user, _ in first(user) }
  }

  /// Iterations that change their user. Each user takes part in one iteration at a time.
  static func exclusive(
    _ users: [LoadUser], _ first: @escaping (LoadUser, inout SeededGenerator) -> Step
  ) -> Iterations {
    Iterations(pool: Pool(users, isExclusive: true), first: first)
  }
}

/// An endless source of a scenario's iterations, chosen by weight.
final class Mix: IterationSource {
  struct Part {
    let workload: String
    let weight: Int
    let iterations: Iterations
  }

  private let parts: [Part]
  private let choice: WeightedChoice
  private var generator: SeededGenerator

  init(_ parts: [Part], seed: UInt64) {
    self.parts = parts
    choice = WeightedChoice(parts.map(\.weight))
    generator = SeededGenerator(seed: seed)
  }

  func next() throws(RunError) -> Iteration? {
    let row = choice.draw(&generator)
    let (workload, iterations) = (parts[row].workload, parts[row].iterations)
    guard let user = iterations.pool.take(&generator) else {
      throw RunError(description: "no users are left for \(workload), because their iterations failed")
    }
    return Iteration(row: row, first: iterations.first(user, &generator), user: user, pool: iterations.pool)
  }

  func ended(_ iteration: Iteration, failed: Bool) {
    if !failed { iteration.pool?.giveBack(iteration.user) }
  }
}

/// A source of one iteration for each user, for preparing a run.
final class Once: IterationSource {
  private var remaining: ArraySlice<LoadUser>
  private let first: (LoadUser) -> Step

  init(_ users: [LoadUser], _ first: @escaping (LoadUser) -> Step) {
    remaining = users[...]
    self.first = first
  }

  func next() -> Iteration? {
    remaining.popFirst().map { Iteration(row: 0, first: first($0), user: $0, pool: nil) }
  }

  func ended(_ iteration: Iteration, failed: Bool) {}
}
