/// An iteration with its work, and with its user and the pool to return the user to.
struct Iteration {
  /// The row in the report.
  let row: Int
  var work: any Work
  let user: LoadUser?
  let pool: Pool?
}

/// A source of iterations.
protocol IterationSource: AnyObject {
  func next() -> NextIteration
  /// Reports the end of an iteration, and whether one of its calls failed.
  func ended(_ iteration: Iteration, failed: Bool)
}

enum NextIteration {
  case iteration(Iteration)
  /// There are no more iterations.
  case none
  /// The run must end early, because no users are left.
  case stuck(String)
}
