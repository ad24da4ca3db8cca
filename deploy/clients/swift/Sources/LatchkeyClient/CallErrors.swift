public import GRPCCore

// The generated clients call these instead of the methods of GRPCClient, whose errors are of the type RPCError.

extension GRPCClient {
  func unaryCall<Request, Response, Result: Sendable>(
    request: ClientRequest<Request>, descriptor: MethodDescriptor, serializer: some MessageSerializer<Request>,
    deserializer: some MessageDeserializer<Response>, options: CallOptions,
    onResponse: @Sendable @escaping (ClientResponse<Response>) async throws -> Result
  ) async throws -> Result {
    try await withLatchkeyErrors {
      try await unary(
        request: request, descriptor: descriptor, serializer: serializer, deserializer: deserializer, options: options,
        onResponse: onResponse)
    }
  }

  func serverStreamingCall<Request, Response, Result: Sendable>(
    request: ClientRequest<Request>, descriptor: MethodDescriptor, serializer: some MessageSerializer<Request>,
    deserializer: some MessageDeserializer<Response>, options: CallOptions,
    onResponse: @Sendable @escaping (StreamingClientResponse<Response>) async throws -> Result
  ) async throws -> Result {
    try await withLatchkeyErrors {
      try await serverStreaming(
        request: request, descriptor: descriptor, serializer: serializer, deserializer: deserializer, options: options,
        onResponse: onResponse)
    }
  }

  func bidirectionalStreamingCall<Request, Response, Result: Sendable>(
    request: StreamingClientRequest<Request>, descriptor: MethodDescriptor,
    serializer: some MessageSerializer<Request>, deserializer: some MessageDeserializer<Response>,
    options: CallOptions,
    onResponse: @Sendable @escaping (StreamingClientResponse<Response>) async throws -> Result
  ) async throws -> Result {
    try await withLatchkeyErrors {
      try await bidirectionalStreaming(
        request: request, descriptor: descriptor, serializer: serializer, deserializer: deserializer, options: options,
        onResponse: onResponse)
    }
  }
}

private func withLatchkeyErrors<Result>(_ call: () async throws -> Result) async throws -> Result {
  do { return try await call() } catch let error as RPCError { throw LatchkeyError(error) }
}

extension CallOptions {
  /// Options with a deadline, for calls that need another one than the service configuration has.
  public static func timeout(_ timeout: Duration) -> CallOptions {
    var options = CallOptions.defaults
    options.timeout = timeout
    return options
  }
}
