internal import Fetch
internal import HTTP2
internal import Store
internal import TLS

// What is counted, as closed sets: each case is a label, so no text from outside ever becomes one.

/// Who or what was turned away, or made to wait.
enum Refused: String, CaseIterable {
  case connections
  case connectionsPerAddress = "connections_per_address"
  /// The process has no file descriptor left.
  case descriptors
  case handshake
  case headerList = "header_list"
  case streams
  case streamingCalls = "streaming_calls"
  case messageBytes = "message_bytes"
  /// More parts in a message than its size excuses.
  case messageParts = "message_parts"
  case requestTime = "request_time"
  case unsentBytes = "unsent_bytes"
  /// A connection is not read until it takes what we said.
  case unreadFrames = "unread_frames"
  /// Strangers stay in the accept queue while those before them wait for their handshake.
  case newcomers

  case callerUnidentified = "caller_unidentified"
  case callerUnknown = "caller_unknown"
  case callerContradictory = "caller_contradictory"
  case callerRights = "caller_rights"

  case passwordQueue = "password_queue"
  case storeQueue = "store_queue"
  case fetchQueue = "fetch_queue"
  case pendingPerAccount = "pending_per_account"
  case pendingPerCaller = "pending_per_caller"
  case pendingInAll = "pending_in_all"
  case idempotencyKeyReused = "idempotency_key_reused"

  case metricsConnections = "metrics_connections"
  case metricsRequest = "metrics_request"
  case metricsTime = "metrics_time"

  static let tooManyPings = "too_many_pings"

  /// Together with what ends a connection that is a nuisance, as its GOAWAY says it.
  static let labels = allCases.map(\.rawValue) + Budget.Kind.allCases.map(\.rawValue) + [tooManyPings]
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
  case cancelled
  case failed

  init(_ result: Result<Outcome, StoreError>) {
    self = switch result {
    case .success(.committed): .committed
    case .success(.conflict): .conflict
    case .success(.stale): .stale
    case .success(.limited): .limited
    case .success(.cancelled): .cancelled
    case .failure: .failed
    }
  }
}

/// What came of a fetch.
enum FetchEnd: String, CaseIterable {
  case answered
  case refusedURL = "refused_url"
  case refusedAddress = "refused_address"
  case redirected
  case tooLarge = "too_large"
  case timedOut = "timed_out"
  case untrusted
  case unreachable
  case overloaded
  case closed

  init(_ error: FetchError) {
    self = switch error {
    case .refusedURL: .refusedURL
    case .refusedAddress: .refusedAddress
    case .redirected: .redirected
    case .tooLarge: .tooLarge
    case .timedOut: .timedOut
    case .untrusted: .untrusted
    case .unreachable: .unreachable
    case .overloaded: .overloaded
    case .closed: .closed
    }
  }
}
