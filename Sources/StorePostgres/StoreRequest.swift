import Store

/// Steps that are sent and answered together.
struct RoundTrip {
  let steps: [BoundStatement]
  /// Whether it begins a transaction, and whether it ends one. A transaction can span several round trips.
  let begins: Bool
  let ends: Bool
  /// Receives the result. Returns the next round trip on the same connection, if any.
  let then: (RoundTripResult) -> RoundTrip?

  /// The timeout of its steps if it is not the general one.
  var statementMillis: Int64? { RoundTrip.statementMillis(of: steps) }

  static func statementMillis(of steps: [BoundStatement]) -> Int64? {
    steps.contains { $0.statement.name == Statement.withMoreTime.name } ? Statement.moreMillis : nil
  }

  /// Creates a round trip with its own BEGIN and COMMIT.
  static func whole(_ steps: [BoundStatement], begin: Statement, then: @escaping (RoundTripResult) -> RoundTrip?)
    -> RoundTrip
  {
    RoundTrip(steps: [BoundStatement(begin)] + steps + [BoundStatement(.commit)], begins: true, ends: true, then: then)
  }

  /// Creates a round trip of a single statement, which is a transaction by itself.
  static func single(_ step: BoundStatement, then: @escaping (RoundTripResult) -> RoundTrip?) -> RoundTrip {
    RoundTrip(steps: [step], begins: false, ends: false, then: then)
  }
}

/// The result of a round trip: one result for each step, or an error.
typealias RoundTripResult = Result<[QueryResult], RequestError>

/// What other threads send to the thread of a pool.
enum PoolCommand: Sendable {
  case request(StoreRequest)
  /// A connection that the pool has asked for.
  case connection(ReadyConnection)
}

/// A caller's request to the database, in transit to the thread that sends it.
struct StoreRequest: Sendable {
  enum Kind: Sendable {
    /// May share a connection with others of its kind.
    case reading
    /// Needs a connection of its own, because it may wait for a lock.
    case writing
  }

  let kind: Kind
  let sinceMillis: Int64
  /// Called on the sending thread immediately before the request is sent. nil: there is nothing to send, and the caller
  /// has its result.
  let begin: @Sendable () -> RoundTrip?
  /// Called if the request is not sent.
  let refuse: @Sendable (StoreError) -> Void
}
