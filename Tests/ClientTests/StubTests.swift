import Certificates
import CProtobufC
import HTTP2
import Messages
import Testing
import Wire

@testable import Client

func endpoint(_ server: TestServer, host: String = "localhost", _ change: (inout EndpointSettings) -> Void = { _ in })
  throws -> Endpoint
{
  var settings = EndpointSettings(
    host: host, port: server.port, authorityFile: Certificates.shared.path("authority.pem"))
  change(&settings)
  return try Endpoint(settings)
}

@Test func `a generated function sends its call, and its closure sees the answer`() throws {
  let server = try TestServer { stream, session in
    let answer = HealthCheckResponse(status: .serving).encode(arena: Arena(budgetBytes: 1_000))
    session.respond(stream, head: okHead, body: answer, trailers: okTrailers)
  }
  let loop = try EventLoop()
  let connection = Connection(to: try endpoint(server), on: loop)
  let health = try Stub(.health, on: connection)
  final class Seen {
    var status: UInt32?
    let end: () -> Void
    init(_ end: @escaping () -> Void) { self.end = end }
  }
  let seen = Seen {
    connection.close()
    loop.stop()
  }
  var request = unsafe Grpc__Health__V1__HealthCheckRequest()
  unsafe grpc__health__v1__health_check_request__init(&request)
  unsafe grpc__health__v1__health__check(health.service, &request, { answer, context in
    let seen = unsafe Unmanaged<Seen>.fromOpaque(context!).takeUnretainedValue()
    seen.status = unsafe answer?.pointee.status.rawValue
    seen.end()
  }, Unmanaged.passUnretained(seen).toOpaque())
  loop.run()
  #expect(seen.status == 1)
  #expect(health.status == .ok)
}
