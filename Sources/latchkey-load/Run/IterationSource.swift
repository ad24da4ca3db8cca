/// An iteration with what it needs to be begun and given back.
struct Iteration {
  /// Its row in the report.
  let row: Int
  var work: any Work
  let person: Person?
  let pool: Pool?
}

/// Where iterations come from.
protocol IterationSource: AnyObject {
  func next() -> NextIteration
  /// One has ended; it failed where one of its calls did.
  func ended(_ iteration: Iteration, failed: Bool)
}

enum NextIteration {
  case iteration(Iteration)
  /// There are no more.
  case none
  /// There should be more, but nobody is left to do them.
  case stuck(String)
}
