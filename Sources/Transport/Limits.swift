// Transport: the gRPC server on its sockets.
//
// Owns: the limits of connections and calls, the listener, the workers with their turns and queues, the connections
// that stack TLS, HTTP2 and GRPC, the stages of a call, and the drain of a connection.
// Does not own: any rule of a protocol (TLS, HTTP2, GRPC), the handlers of calls (Services), the log and the metrics
// (Observability), the order of start and drain (Server).
// Read next: Connection.swift, which shows the path of a request on one page; then ConnectionPhase.swift,
// CallStage.swift and Worker.swift.

package import HTTPClient
package import HTTP2
package import Services

/// Limits on connections, calls, memory and time that an unauthenticated client can use.
///
/// Each value states its unit. deploy/docs/limits.md also lists the limits of request fields, the stores and the
/// product. The configuration may change the values that it names. Each limit that an attack can reach has a test at
/// its edge and past it, and a row in Tests/Interop/ATTACKS.md.
package struct Limits: Sendable {
  // Connections.
  package var connectionsMax = 16_384
  /// An IPv6 /64 network counts as one address, because one owner has all of it.
  package var connectionsPerAddressMax = 256
  /// Maximum number of connections of one address that end within `offencesMillis` for offences (`Fault.isOffence`).
  /// Past it, the server rejects connections from the address until that time is over.
  package var offencesPerAddressMax = 20
  package var offencesMillis: Int64 = 60_000
  package var listenBacklog: Int32 = 4_096
  package var handshakeMillis: Int64 = 10_000
  /// Connections handed to one reactor whose handshakes have not started. Further ones wait in the accept queue.
  package var newcomersPerReactorMax = 64

  // One turn of one connection. The connection then moves to the end of the ready list.
  package var readBytesPerTurnMax = 16_384
  /// Bytes of one read, about fifty calls. The connection then checks whether its share of calls is used up.
  package var readBytesMax = 4_096
  /// Records of one byte cost as much as full ones.
  package var readsPerTurnMax = 64
  /// Messages of streaming calls count too.
  package var newCallsPerTurnMax = 32
  /// Bytes passed to a streaming call in one step, so that a step cannot contain thousands of messages.
  package var streamPartBytes = 512

  // One turn of one reactor, so that responses do not wait for the requests of all connections.
  package var connectionsPerTurnMax = 64
  /// A step of a handshake costs as much as dozens of calls.
  package var handshakesPerTurnMax = 4

  // Output that a client has not read.
  /// Unsent response bytes of one connection. Past it the server rejects new calls, and stops reading the connection
  /// while its socket is full. The limit also applies to the messages of one streaming call, which is reset past it.
  package var unsentBytesMax = 262_144
  /// Queued frames of one connection. Past it the server stops reading the connection until the client reads them.
  package var queuedFramesMax = 1_000
  package var writeBufferBytes = 65_536
  /// Times for bytes passed to libssl for writing.
  package var socket = Untaken.Limits(stillMillis: 20_000, wholeMillis: 60_000)

  // Requests.
  package var messageBytesMax = 65_536
  /// Time from HEADERS to END_STREAM of a unary request, and from the first to the last byte of a frame or header
  /// block.
  package var requestMillis: Int64 = 10_000
  /// Buffered bytes of incomplete messages, and of messages whose request has not ended, for all calls of one
  /// connection. Past it the server rejects a call that adds to them.
  package var heldRequestBytesMax = 1 << 20
  /// The same for all connections of one reactor.
  package var heldRequestBytesPerReactorMax = 128 << 20
  /// Open streaming calls (watches, reflection, import, export) of one connection.
  package var streamingCallsPerConnectionMax = 16
  /// Poll interval of calls that follow the store, in addition to notifications.
  package var followMillis: Int64 = 5_000
  package var watch = WatchLimits()
  /// Maximum memory to unpack a message, as a multiple of `messageBytesMax`.
  package var arenaFactor = 8

  /// How long the database may be unreachable before the health service reports NOT_SERVING.
  package var storeGoneMillis: Int64 = 5_000

  // Shutdown.
  /// Time after SIGTERM for which health reports NOT_SERVING while the server still accepts connections and calls.
  package var lameDuckMillis: Int64 = 0
  package var drainMillis: Int64 = 25_000
  /// Time from the start of a drain to the end of the handshakes in progress.
  package var lateHandshakeMillis: Int64 = 1_000
  /// How long a closed connection without errors waits for its client to close. The wait repeats, up to `drainMillis`
  /// in total, while the client still reads the last responses.
  package var lingerMillis: Int64 = 1_000

  // HTTP/2: streams, windows, header lists and abuse budgets.
  package var session = SessionLimits()
  package var life = Life.Limits()

  /// Maximum number of queued password hashes. Past it the server rejects the call before any hashing.
  package var passwordWorkersQueueMax = 64

  /// Requests to identity providers.
  package var fetch = FetchLimits()

  // The metrics endpoint.
  package var metricsConnectionsMax = 32
  /// An IPv6 /64 network counts as one address.
  package var metricsConnectionsPerAddressMax = 8
  package var metricsRequestBytesMax = 4_096
  /// Time from accepting a connection to the end of the response.
  package var metricsRequestMillis: Int64 = 5_000
  /// Maximum number of series from swift-metrics, including those of libraries.
  package var metricSeriesMax = 4_096

  // The public keys endpoint.
  package var keysConnectionsMax = 64
  /// An IPv6 /64 network counts as one address.
  package var keysConnectionsPerAddressMax = 16
  package var keysRequestBytesMax = 4_096
  /// Time from accepting a connection to the end of the response, including the handshake.
  package var keysRequestMillis: Int64 = 5_000

  package init() {}
}
