import Store

/// Steps that are sent together and answered together: one round trip.
struct Trip {
  let steps: [Step]
  /// It leaves the connection inside a transaction, which the next trip goes on with, or came in one.
  let begins: Bool
  let ends: Bool
  /// Told what the trip came to; says what to send next on the same connection.
  let then: (Ending) -> Trip?

  /// How long its steps may take, where that is not the common time.
  var statementMillis: Int64? { Trip.statementMillis(of: steps) }

  static func statementMillis(of steps: [Step]) -> Int64? {
    steps.contains { $0.statement.name == Statement.withMoreTime.name } ? Statement.moreMillis : nil
  }

  /// Between a BEGIN and a COMMIT of its own.
  static func whole(_ steps: [Step], begin: Statement, then: @escaping (Ending) -> Trip?) -> Trip {
    Trip(steps: [Step(begin)] + steps + [Step(.commit)], begins: true, ends: true, then: then)
  }

  /// A single statement is a transaction of itself.
  static func single(_ step: Step, then: @escaping (Ending) -> Trip?) -> Trip {
    Trip(steps: [step], begins: false, ends: false, then: then)
  }
}

/// What a trip came to: one answer for each step, or a failure.
typealias Ending = Result<[Answer], Failure>

/// What one caller wants of the database, on its way to the thread that will ask for it.
struct Order: Sendable {
  enum Kind: Sendable {
    /// May share a connection with others of its kind.
    case reading
    /// Has a connection to itself, since it may wait for a lock.
    case writing
  }

  let kind: Kind
  let sinceMillis: Int64
  /// Called on that thread right before it is sent; nil: it is not to be sent, and whoever waits was told.
  let begin: @Sendable () -> Trip?
  /// It was not sent.
  let refuse: @Sendable (StoreError) -> Void
}
