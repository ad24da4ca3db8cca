// Client: a gRPC client of Latchkey on the modules that the server stands on.
//
// Owns: the connection (TLS, HTTP/2 and gRPC stacked from the client's end), the event loop that drives many of them,
// and what a call came to.
// Does not own: frames (HTTP2), the rules of a call (GRPC), the messages and RPCs (API).
//
// A loop lives on one thread, and so do its connections; a process may have many loops, and an endpoint may be shared
// by all of them. Every call has a completion that runs once on the loop's thread; there is no thread and no
// task a call:
//
//   let endpoint = try Endpoint(EndpointSettings(host: "localhost", port: 8443, authorityFile: "authority.pem"))
//   let loop = try EventLoop()
//   let connection = Connection(to: endpoint, on: loop)
//   let head = try CallHead(path: HealthRPC.check.path, endpoint, CallOptions(timeoutMillis: 1_000))
//   _ = connection.begin(head, HealthCheckRequest()) { (result: Result<HealthCheckResponse, CallStatus>) in … }
//   loop.run()
//
// What is only for calls from elsewhere: `EventLoop.remote` takes work from other threads, and `Caller` makes one call
// after the other for programs that have nothing better to do than to wait.
//
// A connection that was told to go (GOAWAY), or broke, takes no more calls: `Connection.onUnusable` is where a new one
// is made. Calls that the server cannot have begun say so (`CallStatus.wasNotProcessed`): they may be sent again.
//
// Read next: Connection.swift, CallStatus.swift, Caller.swift.

internal import GRPC

/// What several calls have in common.
public struct CallOptions: Sendable {
  /// From the start of the call; the server is told. nil: the call may take for ever.
  public var timeoutMillis: Int64?
  /// Sent with each call: lower-case names, printable ASCII values, such as `authorization`.
  public var metadata: [(name: String, value: String)]

  public init(timeoutMillis: Int64? = 10_000, metadata: [(name: String, value: String)] = []) {
    self.timeoutMillis = timeoutMillis
    self.metadata = metadata
  }

  /// The metadata by which a service says who it is.
  public static func apiKey(_ key: String) -> (name: String, value: String) { ("authorization", "Bearer " + key) }
}

/// A name or a value that cannot be sent.
public struct MetadataError: Error, Hashable, CustomStringConvertible {
  public var why: String
  public var description: String { why }
}

/// Names one call of one connection, so that it can be cancelled.
public struct CallID: Hashable, Sendable {
  let streamID: Int32
}
