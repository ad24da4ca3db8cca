internal import Fetch
internal import Store
internal import TLS

// What is counted, as closed sets: each case is a label, so no text from outside ever becomes one.

/// What was turned away beside what meets a `LimitKind`.
enum Refused: String, CaseIterable {
  /// More parts in a message than its size excuses.
  case messageParts = "message_parts"

  case callerUnidentified = "caller_unidentified"
  case callerUnknown = "caller_unknown"
  case callerContradictory = "caller_contradictory"
  case callerAmbiguous = "caller_ambiguous"
  case callerRights = "caller_rights"

  case passwordQueue = "password_queue"
  case storeQueue = "store_queue"
  case fetchQueue = "fetch_queue"
  case pendingPerAccount = "pending_per_account"
  case pendingPerCaller = "pending_per_caller"
  case pendingInAll = "pending_in_all"
  case deliveryQueue = "delivery_queue"
  case noticeQueue = "notice_queue"
  case watchersPerCaller = "watchers_per_caller"
  case watchersInAll = "watchers_in_all"
  case idempotencyKeyReused = "idempotency_key_reused"

  case metricsConnections = "metrics_connections"
  case metricsRequest = "metrics_request"
  case metricsTime = "metrics_time"

  case keysConnections = "keys_connections"
  case keysRequest = "keys_request"
  case keysTime = "keys_time"
}

/// What became of an attempt to send a message.
enum DeliveryEnd: String, CaseIterable {
  case sent
  /// It is tried again.
  case failed
  /// It was given up.
  case buried
}

/// How a handshake ended.
enum HandshakeEnd: Equatable {
  case full
  case resumed
  /// The client went away.
  case closed
  case timedOut
  case failed(HandshakeFault)

  var label: String {
    switch self {
    case .full: "full"
    case .resumed: "resumed"
    case .closed: "closed"
    case .timedOut: "timed_out"
    case .failed(let fault): fault.rawValue
    }
  }

  static let labels =
    [HandshakeEnd.full, .resumed, .closed, .timedOut].map(\.label) + HandshakeFault.allCases.map(\.rawValue)
}

/// What became of a change that was given to the store.
enum ChangeEnd: String, CaseIterable {
  case committed
  case conflict
  case stale
  case limited
  case throttled
  case cancelled
  case failed

  init(_ result: Result<Outcome, StoreError>) {
    self = switch result {
    case .success(.committed): .committed
    case .success(.conflict): .conflict
    case .success(.stale): .stale
    case .success(.limited): .limited
    case .success(.throttled): .throttled
    case .success(.cancelled): .cancelled
    case .failure: .failed
    }
  }
}

/// What came of a fetch.
enum FetchEnd: String, CaseIterable {
  case answered
  /// With a status of 500 or more.
  case failed
  case refusedURL = "refused_url"
  case refusedField = "refused_field"
  case requestTooLarge = "request_too_large"
  case refusedAddress = "refused_address"
  case redirected
  case tooLarge = "too_large"
  case timedOut = "timed_out"
  case untrusted
  case unreachable
  case overloaded
  case circuitOpen = "circuit_open"
  case closed

  init(_ body: FetchedBody) { self = body.status < 500 ? .answered : .failed }

  init(_ error: FetchError) {
    self = switch error {
    case .refusedURL: .refusedURL
    case .refusedField: .refusedField
    case .requestTooLarge: .requestTooLarge
    case .refusedAddress: .refusedAddress
    case .redirected: .redirected
    case .tooLarge: .tooLarge
    case .timedOut: .timedOut
    case .untrusted: .untrusted
    case .unreachable: .unreachable
    // Of mails alone, which are not counted here.
    case .rejected: .failed
    case .overloaded: .overloaded
    case .circuitOpen: .circuitOpen
    case .closed: .closed
    }
  }
}
