public import GRPCCore
internal import GRPCNIOTransportHTTP2Posix

#if canImport(FoundationEssentials)
private import FoundationEssentials
#else
private import Foundation
#endif

extension LatchkeyClient {
  /// The server to connect to, and the credential of the calling service.
  public struct Configuration: Sendable {
    /// Name or address of the server, such as `auth.example.com`. The server's certificate must contain it. The client
    /// balances calls over all addresses of a name.
    public var host: String
    /// TCP port.
    public var port: Int
    /// The authorities whose server certificates are valid.
    public var trustRoots: TrustRoots
    /// Identifies the calling service. Without one, the server rejects calls with `CALLER_UNIDENTIFIED`.
    public var credential: CallerCredential?

    /// Creates a configuration.
    public init(host: String, port: Int, trustRoots: TrustRoots = .system, credential: CallerCredential?) {
      self.host = host
      self.port = port
      self.trustRoots = trustRoots
      self.credential = credential
    }
  }

  /// The authorities whose server certificates are valid.
  public enum TrustRoots: Sendable, Hashable {
    /// The public authorities that the operating system trusts.
    case system
    /// The certificates in a PEM file.
    case file(String)
  }

  /// Identifies the calling service to the server.
  public enum CallerCredential: Sendable, Hashable {
    /// An API key such as `lk_…`. White space around it is removed.
    case apiKey(String)
    /// A client certificate with its chain and its private key, as paths of PEM files.
    case certificate(chainFile: String, keyFile: String)

    var key: String? {
      guard case .apiKey(let key) = self else { return nil }
      return key.filter { !$0.isWhitespace }
    }
  }

  /// The retries, deadlines and load balancing of `proto/service-config.json`, for other transports.
  public static func serviceConfiguration() throws -> ServiceConfig {
    try JSONDecoder().decode(ServiceConfig.self, from: Data(serviceConfigurationJSON.utf8))
  }
}

extension LatchkeyClient.Configuration {
  func makeTransport() throws -> HTTP2ClientTransport.Posix {
    try HTTP2ClientTransport.Posix(
      target: target, transportSecurity: transportSecurity,
      config: .defaults {
        // Within the limits of the server: one ping in 60 s while calls are open.
        $0.connection.keepalive = .init(time: .seconds(120), timeout: .seconds(20), allowWithoutCalls: false)
      },
      serviceConfig: LatchkeyClient.serviceConfiguration())
  }

  // The certificate of a server without a name contains its address.
  private var target: any ResolvableTarget {
    if host.contains(":") {
      ResolvableTargets.IPv6(addresses: [.init(host: host, port: port)])
    } else if host.wholeMatch(of: /[0-9.]+/) != nil {
      ResolvableTargets.IPv4(addresses: [.init(host: host, port: port)])
    } else {
      ResolvableTargets.DNS(host: host, port: port)
    }
  }

  private var transportSecurity: HTTP2ClientTransport.Posix.TransportSecurity {
    let roots: TLSConfig.TrustRootsSource =
      switch trustRoots {
      case .system: .systemDefault
      case .file(let path): .certificates([.file(path: path, format: .pem)])
      }
    guard case .certificate(let chainFile, let keyFile) = credential else { return .tls { $0.trustRoots = roots } }
    return .mTLS(
      certificateChain: [.file(path: chainFile, format: .pem)], privateKey: .file(path: keyFile, format: .pem)
    ) { $0.trustRoots = roots }
  }
}

/// Adds an API key to each call.
struct APIKeyInterceptor: ClientInterceptor {
  let key: String

  func intercept<Input: Sendable, Output: Sendable>(
    request: StreamingClientRequest<Input>, context: ClientContext,
    next: (StreamingClientRequest<Input>, ClientContext) async throws -> StreamingClientResponse<Output>
  ) async throws -> StreamingClientResponse<Output> {
    var request = request
    request.metadata.replaceOrAddString("Bearer \(key)", forKey: "authorization")
    return try await next(request, context)
  }
}
