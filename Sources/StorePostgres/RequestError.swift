import Store

/// The reason why a request to the database failed.
enum RequestError: Error {
  /// The request was never sent.
  case unsent(StoreError)
  /// The connection was lost. The last request may have been executed.
  case lost(String)
  /// The server rejected a step and applied nothing of the transaction.
  case refused(ServerError)
  /// A row contains a value that this code never wrote.
  case corrupt(String)

  /// Whether a retry may succeed.
  var isPassing: Bool {
    switch self {
    case .lost: true
    case .refused(let error): error.isOfConnection || error.isUnknown || error.isCollision
    case .unsent, .corrupt: false
    }
  }

  var storeError: StoreError {
    switch self {
    case .unsent(let error): error
    case .lost(let text): .unavailable(text)
    case .refused(let error) where error.hasHitSeveralRows: .corrupt("several rows under one key: \(error.text)")
    case .refused(let error): .unavailable(error.text)
    case .corrupt(let text): .corrupt(text)
    }
  }
}

/// An error reported by the server, without detail, hint and context, which quote stored data.
struct ServerError: Hashable, Sendable {
  /// The index of the failed step in its round trip.
  let step: Int
  let state: String
  let constraint: String
  private let message: String

  init(step: Int, state: String, constraint: String, message: String) {
    self.step = step
    self.state = state
    self.constraint = constraint
    self.message = message
  }

  var text: String {
    "PostgreSQL \(state): \(message)" + (constraint.isEmpty ? "" : " (constraint \(constraint))")
  }

  private var stateClass: Substring { state.prefix(2) }

  /// The server aborted the transaction in favor of another one.
  var isCollision: Bool { state == "40001" || state == "40P01" }

  /// Another transaction held a lock for longer than the lock timeout.
  var isLockTimeout: Bool { state == "55P03" }

  /// Whether the outcome of the transaction is unknown, as a distributed server can report.
  var isUnknown: Bool { state == "40003" || stateClass == "08" || isShutdown }

  /// The server is stopping, has crashed, or is still starting.
  private var isShutdown: Bool { ["57P01", "57P02", "57P03"].contains(state) }

  /// The connection's state caused the rejection, and another connection may succeed.
  ///
  /// The server may be read-only since it lost its role. A statement may be missing or prepared for another schema. An
  /// earlier round trip may have failed.
  var isOfConnection: Bool { ["25006", "25P02", "26000", "0A000"].contains(state) }

  /// Whether the connection must not be used again.
  var endsConnection: Bool {
    isUnknown || (isOfConnection && state != "25P02") || stateClass == "53" || stateClass == "XX"
  }

  /// The condition of the database that the error reveals; nil: the error concerns one request only.
  var trouble: StoreTrouble? {
    switch state {
    case "XX001", "XX002": .corrupt
    case "53100": .full
    case "58030", "58P01": .unreadable
    default: nil
    }
  }

  /// Whether a guard failed: it divides by the number of rows found.
  var isGuard: Bool { state == "22012" }

  /// Whether a guard has found several rows, although a key limits it to one.
  var hasHitSeveralRows: Bool { state == "21000" }

  /// The unique key that rejected a row.
  var uniqueKey: UniqueKey? {
    guard state == "23505" else { return nil }
    return switch constraint {
    case "accounts_id": .accountID
    case "accounts_email": .email
    case "accounts_phone_number": .phoneNumber
    case "identities_key", "identities_of_account", "identities_transfer": .identity
    case "idempotency_key": .idempotency
    case "spent_tokens_digest": .spentToken
    case "signing_keys_key_id": .signingKey
    default: nil
    }
  }
}
