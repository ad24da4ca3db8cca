// Client: a gRPC client for Latchkey, built on the same modules as the server.
//
// Owns: the connection (TLS, HTTP/2 and gRPC on the client side), the event loop that drives many connections, and the
// results of calls.
// Does not own: frames (HTTP2), the rules of a call (GRPC), the messages and RPCs (API).
//
// A loop and its connections belong to one thread. A process may have many loops, and all of them may share an
// endpoint. The completion of each call runs once on the loop's thread. A call needs no thread or task of its own:
//
//   let endpoint = try Endpoint(EndpointSettings(host: "localhost", port: 8443, authorityFile: "authority.pem"))
//   let loop = try EventLoop()
//   let connection = Connection(to: endpoint, on: loop)
//   let head = try CallHead(path: HealthRPC.check.path, endpoint, CallOptions(timeoutMillis: 1_000))
//   _ = connection.begin(head, HealthCheckRequest()) { (result: Result<HealthCheckResponse, CallStatus>) in … }
//   loop.run()
//
// Other threads submit work through `EventLoop.remote`. `Caller` makes one blocking call after the other.
//
// A connection takes no more calls after a GOAWAY frame or a failure. Open a new connection in
// `Connection.onUnusable`. If `CallStatus.wasNotProcessed` is true, the server cannot have begun the call, and the
// client may retry it.
//
// Read next: Connection.swift, CallStatus.swift, Caller.swift.

internal import GRPC

/// Options that several calls share.
public struct CallOptions: Sendable {
  /// The timeout from the start of the call, also sent to the server. nil: no timeout.
  public var timeoutMillis: Int64?
  /// Metadata of each call, such as `authorization`. Names are lower-case, values printable ASCII.
  public var metadata: [(name: String, value: String)]

  public init(timeoutMillis: Int64? = 10_000, metadata: [(name: String, value: String)] = []) {
    self.timeoutMillis = timeoutMillis
    self.metadata = metadata
  }

  /// Returns the metadata that identifies a caller by its API key.
  public static func apiKey(_ key: String) -> (name: String, value: String) { ("authorization", "Bearer " + key) }
}

/// A metadata name or value that cannot be sent.
public struct MetadataError: Error, Hashable, CustomStringConvertible {
  public var why: String
  public var description: String { why }
}

/// The identifier of a call on its connection, for cancelling it.
public struct CallID: Hashable, Sendable {
  let streamID: Int32
}
