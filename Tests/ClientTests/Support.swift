import Certificates
import HTTP2
import API
import Protobuf

@testable import Client

/// An RPC that only the servers of these tests implement.
let rpc = RPC<HealthCheckRequest, HealthCheckResponse>("/a.B/C", number: 0)

/// The endpoint of a server, with the settings of the tests.
func endpoint(
  _ server: TestServer, host: String = "localhost", _ change: (inout EndpointSettings) -> Void = { _ in }
) throws -> Endpoint {
  try endpoint(port: server.port, host: host, change)
}

func endpoint(
  port: UInt16, host: String = "localhost", _ change: (inout EndpointSettings) -> Void = { _ in }
) throws -> Endpoint {
  var settings = EndpointSettings(
    host: host, port: port, authorityFile: Certificates.shared.path("authority.pem"))
  change(&settings)
  return try Endpoint(settings)
}

/// The outcome of one call.
typealias Outcome = Result<HealthCheckResponse, CallStatus>

extension Outcome {
  var status: CallStatus { if case .failure(let status) = self { status } else { .ok } }
}

/// Makes one call on a new connection.
func ask(_ endpoint: Endpoint, timeoutMillis: Int64? = 10_000) -> Outcome {
  do throws(CallStatus) {
    return .success(
      try Caller(endpoint, CallOptions(timeoutMillis: timeoutMillis)).call(rpc, HealthCheckRequest()))
  } catch {
    return .failure(error)
  }
}

/// Runs a loop with `count` calls on one connection until all have ended. Passes the number of ended calls to `between`
/// after each.
func askAtOnce(
  _ endpoint: Endpoint, count: Int, timeoutMillis: Int64? = 10_000,
  between: (Connection, [CallID], Int) -> Void = { _, _, _ in }
) throws -> [Outcome] {
  try withoutActuallyEscaping(between) { between in
    let loop = try EventLoop()
    let connection = Connection(to: endpoint, on: loop)
    let head = try CallHead(path: rpc.path, endpoint, CallOptions(timeoutMillis: timeoutMillis))
    var outcomes: [Outcome?] = Array(repeating: nil, count: count)
    var ids: [CallID] = []
    var ended = 0
    for index in 0..<count {
      let id = connection.begin(head, HealthCheckRequest()) { (outcome: Outcome) in
        outcomes[index] = outcome
        ended += 1
        between(connection, ids, ended)
        if ended == count {
          connection.close()
          loop.stop()
        }
      }
      if let id { ids.append(id) }
    }
    between(connection, ids, 0)
    loop.run()
    return outcomes.compactMap(\.self)
  }
}

/// Sends the answer of most tests.
func serve(_ stream: HTTP2.Stream, _ session: HTTP2.Session) {
  session.respond(stream, head: okHead, body: serving, trailers: okTrailers)
}

private let serving = HealthCheckResponse(status: .serving).encode(arena: Arena(budgetBytes: 1_000))
