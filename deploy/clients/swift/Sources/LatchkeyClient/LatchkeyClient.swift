public import GRPCCore
private import GRPCNIOTransportHTTP2Posix

/// A connection to a Latchkey server, with one client for each service.
///
/// Share one client in the whole process. It balances calls over the server's addresses, reconnects, and repeats the
/// calls that are safe to repeat. ``withLatchkeyClient(_:isolation:_:)`` runs a client for the duration of a closure.
/// An application with its own life cycle calls ``run()`` in a task.
///
/// A failed call throws ``LatchkeyError``. A call after ``shutDown()`` throws `RuntimeError`.
public final class LatchkeyClient: Sendable {
  /// Signs users in, and manages their sign-in methods.
  public let auth: any Latchkey_V1_AuthService.ClientProtocol
  /// Creates, reads, updates, merges and deletes accounts.
  public let accounts: any Latchkey_V1_AccountService.ClientProtocol
  /// Refreshes, verifies, lists and ends sessions. ``SessionKeeper`` keeps one user's session.
  public let sessions: any Latchkey_V1_SessionService.ClientProtocol
  /// Starts sign-ins on the pages of providers.
  public let providerFlows: any Latchkey_V1_ProviderFlowService.ClientProtocol
  /// Asks for second factors, and enrols them.
  public let secondFactors: any Latchkey_V1_SecondFactorService.ClientProtocol
  /// Sends and checks codes and links.
  public let verification: any Latchkey_V1_VerificationService.ClientProtocol
  /// Streams events of all accounts. ``updates(after:types:)`` also resumes the stream.
  public let events: any Latchkey_V1_EventService.ClientProtocol
  /// Administers accounts.
  public let admin: any Latchkey_V1_AdminService.ClientProtocol

  private let runConnections: @Sendable () async throws -> Void
  private let closeConnections: @Sendable () -> Void

  /// Creates a client. It connects when ``run()`` is called.
  ///
  /// - Throws: `RuntimeError` if a certificate or key file cannot be read.
  public convenience init(_ configuration: Configuration) throws {
    self.init(transport: try configuration.makeTransport(), apiKey: configuration.credential?.key)
  }

  /// Creates a client on another transport of grpc-swift-2, such as Network.framework's or one for tests.
  ///
  /// - Parameters:
  ///   - transport: The transport. Give it ``serviceConfiguration()``, which contains retries and deadlines.
  ///   - apiKey: The API key of the calling service, or nil if a certificate of the transport identifies it.
  public init(transport: some ClientTransport, apiKey: String? = nil) {
    let client = GRPCClient(
      transport: ConnectionFailures(base: transport), interceptors: apiKey.map { [APIKeyInterceptor(key: $0)] } ?? [])
    auth = Latchkey_V1_AuthService.Client(wrapping: client)
    accounts = Latchkey_V1_AccountService.Client(wrapping: client)
    sessions = Latchkey_V1_SessionService.Client(wrapping: client)
    providerFlows = Latchkey_V1_ProviderFlowService.Client(wrapping: client)
    secondFactors = Latchkey_V1_SecondFactorService.Client(wrapping: client)
    verification = Latchkey_V1_VerificationService.Client(wrapping: client)
    events = Latchkey_V1_EventService.Client(wrapping: client)
    admin = Latchkey_V1_AdminService.Client(wrapping: client)
    runConnections = { try await client.runConnections() }
    closeConnections = { client.beginGracefulShutdown() }
  }

  /// Runs the connections until ``shutDown()`` was called and all calls have finished. Call it once.
  ///
  /// Cancelling the task closes the connections immediately.
  public func run() async throws {
    do {
      try await runConnections()
    } catch let error as RuntimeError where error.code == .clientIsStopped {
      // `shutDown` came first.
    }
  }

  /// Accepts no further calls, and lets ``run()`` return when the present calls have finished.
  public func shutDown() { closeConnections() }
}

/// Creates a client, runs it, and closes it when `body` returns.
///
/// ```swift
/// let configuration = LatchkeyClient.Configuration(host: "auth.example.com", port: 8443, credential: .apiKey(key))
/// try await withLatchkeyClient(configuration) { client in
///   let response = try await client.auth.signIn(request)
/// }
/// ```
///
/// - Parameters:
///   - configuration: The server and the credential of the calling service.
///   - isolation: The actor of the caller.
///   - body: Uses the client. Do not keep the client after it returns.
/// - Returns: The result of `body`.
/// - Throws: The error of `body`, or `RuntimeError` if a certificate or key file cannot be read.
public func withLatchkeyClient<Result: Sendable>(
  _ configuration: LatchkeyClient.Configuration,
  isolation: isolated (any Actor)? = #isolation,
  _ body: (LatchkeyClient) async throws -> Result
) async throws -> Result {
  let client = try LatchkeyClient(configuration)
  return try await withThrowingDiscardingTaskGroup { group in
    group.addTask { try await client.run() }
    let result = try await body(client)
    client.shutDown()
    return result
  }
}
