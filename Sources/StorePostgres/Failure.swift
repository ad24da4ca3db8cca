import Store

/// Why a trip to the database came to nothing.
enum Failure: Error {
  /// It was never begun.
  case unsent(StoreError)
  /// The connection went away: what was asked last may have been done.
  case lost(String)
  /// The server refused a step, and has done nothing of what its transaction asked.
  case refused(ServerError)
  /// A row holds what this code never wrote.
  case corrupt(String)

  /// The same may succeed when it is asked again.
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
    case .refused(let error): .unavailable(error.text)
    case .corrupt(let text): .corrupt(text)
    }
  }
}

/// An error report of the server. It is kept without detail, hint and context: those quote what was stored.
struct ServerError: Hashable, Sendable {
  /// Which step of the trip it was.
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

  /// Given up for the sake of another transaction.
  var isCollision: Bool { state == "40001" || state == "40P01" }

  /// Another has kept a row for longer than it was waited for.
  var isLockTimeout: Bool { state == "55P03" }

  /// Nobody knows whether the transaction was committed: a distributed server can say so.
  var isUnknown: Bool { state == "40003" || stateClass == "08" || isShutdown }

  /// By an administrator, a crash, or a start that is not over.
  private var isShutdown: Bool { ["57P01", "57P02", "57P03"].contains(state) }

  /// What was asked was refused for the state that the connection is in, and another can do it: the server only reads
  /// since it lost its role, a statement is not prepared or was made for another schema, or an earlier trip failed.
  var isOfConnection: Bool { ["25006", "25P02", "26000", "0A000"].contains(state) }

  /// The connection is not to be used any more.
  var endsConnection: Bool {
    isUnknown || (isOfConnection && state != "25P02") || stateClass == "53" || stateClass == "XX"
  }

  /// A guard that found nothing divides by it.
  var isGuard: Bool { state == "22012" }

  /// The unique key that refused a row.
  var uniqueKey: UniqueKey? {
    guard state == "23505" else { return nil }
    return switch constraint {
    case "accounts_id": .accountID
    case "accounts_email": .email
    case "accounts_phone_number": .phoneNumber
    case "identities_key", "identities_of_account": .identity
    case "idempotency_key": .idempotency
    case "spent_tokens_digest": .spentToken
    case "signing_keys_key_id": .signingKey
    default: nil
    }
  }
}
