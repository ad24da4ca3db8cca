internal import HTTPClient
internal import Identity
internal import Observability
internal import Store
internal import Tracing

/// Password hashing with a span for each hash of a sampled call.
struct TracedPasswords: Passwords {
  let passwords: any Passwords
  let tracer: CallTracer

  func requireRoom() throws(Failure) { try passwords.requireRoom() }

  func verify(_ password: String, hash: String?, commitDecision: CommitDecision) async throws -> PasswordCheck {
    try await tracer.within("password.verify", .internal, [:]) { _ in
      try await passwords.verify(password, hash: hash, commitDecision: commitDecision)
    }
  }

  func hash(_ password: String, commitDecision: CommitDecision) async throws -> String {
    try await tracer.within("password.hash", .internal, [:]) { _ in
      try await passwords.hash(password, commitDecision: commitDecision)
    }
  }

  func canVerify(hash: String) async throws -> Bool { try await passwords.canVerify(hash: hash) }

  func isCommon(_ password: String) -> Bool { passwords.isCommon(password) }

  func isBlocked(_ password: String, commitDecision: CommitDecision) async throws -> Bool {
    try await passwords.isBlocked(password, commitDecision: commitDecision)
  }
}

/// Requests to providers with a span for each request of a sampled call. The span has the host but not the URL, which
/// may contain secrets.
struct TracedFetcher: HTTPSFetching {
  let fetcher: any HTTPSFetching
  let tracer: CallTracer

  func fetch(_ request: FetchRequest) async throws -> FetchedBody {
    let method = request.method.rawValue
    return try await tracer.within(method, .client, request.attributes(method)) { span in
      let body = try await fetcher.fetch(request)
      span?.attributes["http.response.status_code"] = body.status
      return body
    }
  }
}

extension FetchRequest {
  fileprivate func attributes(_ method: String) -> SpanAttributes {
    [
      "http.request.method": .string(method), "server.address": .string(host),
      "latchkey.provider": .string(provider),
    ]
  }

  /// The host of the URL, without user information and port.
  fileprivate var host: String {
    let rest = url.split(separator: "://", maxSplits: 1).last ?? ""
    return String(rest.prefix { $0 != "/" && $0 != "?" && $0 != ":" })
  }
}
