internal import Client

/// The server under load, and the identity of the caller.
struct Target: Sendable {
  var endpoint: Endpoint
  var options: CallOptions
  /// Options of AdminService calls.
  var adminOptions: CallOptions
  var connections: Int
  /// The number of calls in flight on each connection.
  var streams: Int

  var placeCount: Int { connections * streams }
}
