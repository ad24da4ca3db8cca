// Server: the composition root.
//
// Owns: configuration, the limits of connections and calls, the listener, the pump that stacks TLS, HTTP2 and GRPC, the
// drain, the log, the metrics, and the wiring of the domain to storage, cryptography and providers.
// Does not own: any rule of a protocol or of the product.
// Read next: Connection.swift, which is the road of a request on one page; then Worker.swift and Server.swift.

package import Fetch
package import HTTP2
package import Services

/// What a stranger can use of connections, calls, memory and time, in numbers with their units; what bounds a request's
/// texts, the stores and the product stands beside those (README.md, Limits). Configuration may change those that it
/// names. What an attack can reach has a test at its edge and past it, and a row in Tests/Interop/ATTACKS.md.
package struct Limits: Sendable {
  // Connections.
  package var connectionsMax = 16_384
  /// An IPv6 network of 64 bits counts as one address: its owner has all of it.
  package var connectionsPerAddressMax = 256
  /// Connections of one address that were ended within `offencesMillis` for what no honest client does; past it none is
  /// taken from there until the time is over.
  package var offencesPerAddressMax = 20
  package var offencesMillis: Int64 = 60_000
  package var listenBacklog: Int32 = 4_096
  package var handshakeMillis: Int64 = 10_000
  /// Connections on their way to one reactor, whose handshakes it has yet to begin; more wait in the accept queue.
  package var newcomersPerReactorMax = 64

  // One turn of one connection: the rest goes to the end of the ready list.
  package var readBytesPerTurnMax = 16_384
  /// Fed at once: some fifty calls, after which it is looked whether the share of calls is used up.
  package var readBytesMax = 4_096
  /// Records of one byte cost as much as full ones.
  package var readsPerTurnMax = 64
  /// Messages of streaming calls count, too.
  package var newCallsPerTurnMax = 32
  /// A streaming call is given so much at once, so that it cannot bring thousands of messages.
  package var streamPartBytes = 512

  // One turn of one reactor, so that answers do not wait for everybody else's requests.
  package var connectionsPerTurnMax = 64
  /// A step of a handshake costs as much as dozens of calls.
  package var handshakesPerTurnMax = 4

  // What a client may leave untaken.
  /// Answers of one connection: past it new calls are refused, and while the socket takes nothing the connection is not
  /// read. And messages of one streaming call, which is reset past it.
  package var unsentBytesMax = 262_144
  /// Frames of one connection; past it nothing more is read from it until the client takes them.
  package var queuedFramesMax = 1_000
  package var writeBufferBytes = 65_536
  /// What libssl was given to write.
  package var socket = Untaken.Limits(stillMillis: 20_000, wholeMillis: 60_000)

  // Requests.
  package var messageBytesMax = 65_536
  /// From HEADERS to END_STREAM of a unary request, and from the first to the last byte of a frame or a header block.
  package var requestMillis: Int64 = 10_000
  /// Messages that are not whole yet, or whose request has not ended, of all calls of one connection. Past it a call
  /// that adds to them is refused.
  package var heldRequestBytesMax = 1 << 20
  /// Of all connections of one reactor.
  package var heldRequestBytesPerReactorMax = 128 << 20
  /// Streaming calls (watches, reflection, import, export) open on one connection.
  package var streamingCallsPerConnectionMax = 16
  /// How often a call that follows the store looks without being told of news.
  package var followMillis: Int64 = 5_000
  package var watch = WatchLimits()
  /// How many times a message's size unpacking it may take.
  package var arenaFactor = 8

  /// How long the database can be gone before callers are told that this server does not serve.
  package var storeGoneMillis: Int64 = 5_000

  // Shutdown.
  package var drainMillis: Int64 = 25_000
  /// How long a connection that has ended in order waits for its client to close as well; and again, up to
  /// `drainMillis` in all, while the client has still to take the last answers.
  package var lingerMillis: Int64 = 1_000

  // HTTP/2: streams, windows, header lists and abuse budgets.
  package var session = SessionLimits()
  package var life = Life.Limits()

  /// Password hashes that may wait; past them a call is refused before any hashing.
  package var passwordWorkersQueueMax = 64

  /// Towards identity providers.
  package var fetch = FetchLimits()

  // The metrics endpoint.
  package var metricsConnectionsMax = 32
  /// An IPv6 network of 64 bits counts as one address.
  package var metricsConnectionsPerAddressMax = 8
  package var metricsRequestBytesMax = 4_096
  /// From a connection to the end of its answer.
  package var metricsRequestMillis: Int64 = 5_000
  /// Series that are written by swift-metrics, those of libraries included.
  package var metricSeriesMax = 4_096

  // The endpoint of the public keys.
  package var keysConnectionsMax = 64
  /// An IPv6 network of 64 bits counts as one address.
  package var keysConnectionsPerAddressMax = 16
  package var keysRequestBytesMax = 4_096
  /// From a connection to the end of its answer, the handshake included.
  package var keysRequestMillis: Int64 = 5_000

  package init() {}
}
