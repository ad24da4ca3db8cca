internal import Client

/// Where calls go, and as whom.
struct Target: Sendable {
  var endpoint: Endpoint
  var options: CallOptions
  /// For AdminService.
  var adminOptions: CallOptions
  var connections: Int
  /// Calls in flight on each connection.
  var streams: Int

  var placeCount: Int { connections * streams }
}
