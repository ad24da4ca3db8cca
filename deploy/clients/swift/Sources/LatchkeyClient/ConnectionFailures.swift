internal import GRPCCore

/// A transport that reports a failure to connect as the status of the call.
///
/// A transport of grpc-swift-2 throws it instead. Such a call is not repeated. With retries and a deadline, it throws
/// only at the deadline.
struct ConnectionFailures<Base: ClientTransport>: ClientTransport {
  typealias Bytes = Base.Bytes

  let base: Base

  var retryThrottle: RetryThrottle? { base.retryThrottle }

  func connect() async throws { try await base.connect() }

  func beginGracefulShutdown() { base.beginGracefulShutdown() }

  func config(forMethod descriptor: MethodDescriptor) -> MethodConfig? { base.config(forMethod: descriptor) }

  func withStream<Result: Sendable>(
    descriptor: MethodDescriptor, options: CallOptions,
    _ closure: (RPCStream<Inbound, Outbound>, ClientContext) async throws -> Result
  ) async throws -> Result {
    var isConnected = false
    do {
      return try await base.withStream(descriptor: descriptor, options: options) { stream, context in
        isConnected = true
        return try await closure(stream, context)
      }
    } catch where !isConnected && !(error is CancellationError) {
      let error = error as? RPCError ?? RPCError(code: .unavailable, message: "The connection failed.", cause: error)
      let stream = RPCStream<Inbound, Outbound>(
        descriptor: descriptor, inbound: RPCAsyncSequence(wrapping: Self.response(error)),
        outbound: RPCWriter.Closable(wrapping: DiscardingWriter()))
      return try await closure(stream, ClientContext(descriptor: descriptor, remotePeer: "", localPeer: ""))
    }
  }

  private static func response(_ error: RPCError) -> AsyncThrowingStream<RPCResponsePart<Bytes>, any Error> {
    let cause = error.cause.map { " (\($0))" } ?? ""
    return AsyncThrowingStream { continuation in
      continuation.yield(.status(Status(code: .init(error.code), message: error.message + cause), error.metadata))
      continuation.finish()
    }
  }
}

/// Takes the request of a call that has no connection.
private struct DiscardingWriter<Element: Sendable>: ClosableRPCWriterProtocol {
  func write(_: Element) {}
  func write(contentsOf _: some Sequence<Element>) {}
  func finish() {}
  func finish(throwing _: any Error) {}
}
