internal import HTTPClient
internal import Store
package import TLS

// Counted events as closed sets. Each case is a label, so external text never becomes a label.

/// Rejections other than those of `LimitKind`.
package enum Refused: String, CaseIterable {
  /// The message has too many parts for its size.
  case messageParts = "message_parts"

  case callerUnidentified = "caller_unidentified"
  case callerUnknown = "caller_unknown"
  case callerKeyExpired = "caller_key_expired"
  case callerContradictory = "caller_contradictory"
  case callerAmbiguous = "caller_ambiguous"
  case callerForwardMalformed = "caller_forward_malformed"
  /// An `x-forwarded-client-cert` that was ignored, because its sender is no trusted proxy.
  case forwardIgnored = "forward_ignored"
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

/// Result of an attempt to send a message.
package enum DeliveryEnd: String, CaseIterable {
  case sent
  /// The attempt failed and is retried.
  case failed
  /// The server gave up on the message.
  case buried
}

/// Result of a TLS handshake.
package enum HandshakeEnd: Equatable {
  case full
  case resumed
  /// The client disconnected.
  case closed
  case timedOut
  /// A proxy sent no valid PROXY header.
  case proxyHeader
  case failed(HandshakeFault)

  var label: String {
    switch self {
    case .full: "full"
    case .resumed: "resumed"
    case .closed: "closed"
    case .timedOut: "timed_out"
    case .proxyHeader: "proxy_header"
    case .failed(let fault): fault.rawValue
    }
  }

  static let labels =
    [HandshakeEnd.full, .resumed, .closed, .timedOut, .proxyHeader].map(\.label)
    + HandshakeFault.allCases.map(\.rawValue)
}

/// Result of a change in the store.
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

/// Result of a request to a provider.
enum FetchEnd: String, CaseIterable {
  case answered
  /// The status is 500 or higher.
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
    // Occurs only for mail, which is not counted here.
    case .rejected: .failed
    case .overloaded: .overloaded
    case .circuitOpen: .circuitOpen
    case .closed: .closed
    }
  }
}
