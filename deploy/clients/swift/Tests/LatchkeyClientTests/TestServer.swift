import Foundation
import GRPCCore
import GRPCInProcessTransport
import GRPCProtobuf
import LatchkeyClient
import SwiftProtobuf
import Synchronization

/// A server in this process that is under the test's control.
final class TestServer: RegistrableRPCService {
  struct State: Sendable {
    var refreshes: [Latchkey_V1_RefreshRequest] = []
    var signOuts: [Latchkey_V1_SignOutRequest] = []
    var watches: [Latchkey_V1_WatchRequest] = []
    var authorization: [String] = []
    /// The first calls of `Refresh` fail with these.
    var failures: [GoogleRPCStatus] = []
    /// What the calls of `Watch` send before they end.
    var streams: [[Latchkey_V1_WatchResponse]] = []
    /// How a call of `Watch` ends when it has sent its stream.
    var watchFailure = GoogleRPCStatus.of(.unavailable, "")
  }

  let state = Mutex(State())

  func refresh(_ request: Latchkey_V1_RefreshRequest) async throws -> Latchkey_V1_RefreshResponse {
    let (number, failure) = state.withLock { state in
      state.refreshes.append(request)
      return (state.refreshes.count, state.failures.isEmpty ? nil : state.failures.removeFirst())
    }
    try await Task.sleep(for: .milliseconds(10))
    if let failure { throw failure }
    return .with { $0.session = .sample("id \(number)", seconds: 3600) }
  }

  func signOut(_ request: Latchkey_V1_SignOutRequest, _ metadata: Metadata) -> Latchkey_V1_SignOutResponse {
    state.withLock {
      $0.signOuts.append(request)
      $0.authorization += metadata[stringValues: "authorization"].map { $0 }
    }
    return .init()
  }

  func watch(_ request: Latchkey_V1_WatchRequest) -> StreamingServerResponse<Latchkey_V1_WatchResponse> {
    let (stream, failure) = state.withLock { state in
      state.watches.append(request)
      return (state.streams.isEmpty ? [] : state.streams.removeFirst(), state.watchFailure)
    }
    return StreamingServerResponse { writer in
      try await writer.write(contentsOf: stream)
      throw failure
    }
  }

  func registerMethods(with router: inout RPCRouter<some ServerTransport>) {
    typealias Sessions = Latchkey_V1_SessionService.Method
    unary(Sessions.Refresh.descriptor, &router) { [self] request, _ in try await refresh(request) }
    unary(Sessions.SignOut.descriptor, &router) { [self] in signOut($0, $1) }
    router.registerHandler(
      forMethod: Latchkey_V1_EventService.Method.Watch.descriptor,
      deserializer: ProtobufDeserializer<Latchkey_V1_WatchRequest>(),
      serializer: ProtobufSerializer<Latchkey_V1_WatchResponse>()
    ) { [self] request, _ in watch(try await ServerRequest(stream: request).message) }
  }

  private func unary<Request: Message, Response: Message>(
    _ method: MethodDescriptor, _ router: inout RPCRouter<some ServerTransport>,
    _ answer: @escaping @Sendable (Request, Metadata) async throws -> Response
  ) {
    router.registerHandler(
      forMethod: method, deserializer: ProtobufDeserializer<Request>(), serializer: ProtobufSerializer<Response>()
    ) { request, _ in
      let request = try await ServerRequest(stream: request)
      let response = try await answer(request.message, request.metadata)
      return StreamingServerResponse(single: ServerResponse(message: response))
    }
  }
}

/// Runs `body` with a client of the server.
func withClient(
  of server: TestServer, apiKey: String? = nil, serviceConfiguration: ServiceConfig = ServiceConfig(),
  _ body: @Sendable (LatchkeyClient) async throws -> Void
) async throws {
  let transport = InProcessTransport(serviceConfig: serviceConfiguration)
  try await withGRPCServer(transport: transport.server, services: [server]) { _ in
    let client = LatchkeyClient(transport: transport.client, apiKey: apiKey)
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask { try await client.run() }
      try await body(client)
      client.shutDown()
    }
  }
}

extension Latchkey_V1_Session {
  static func sample(_ idToken: String, seconds: Double) -> Self {
    .with {
      $0.idToken = idToken
      $0.refreshToken = "refresh \(idToken)"
      $0.idTokenExpiresAt.seconds = Int64(Date().timeIntervalSince1970 + seconds)
    }
  }
}

extension GoogleRPCStatus {
  /// A failure with a reason, as the server sends it.
  static func of(_ code: RPCError.Code, _ reason: String, _ details: ErrorDetails...) -> Self {
    let info = ErrorDetails.errorInfo(reason: reason, domain: "latchkey", metadata: ["field": "refresh_token"])
    return GoogleRPCStatus(code: code, message: "hint", details: (reason.isEmpty ? [] : [info]) + details)
  }
}
