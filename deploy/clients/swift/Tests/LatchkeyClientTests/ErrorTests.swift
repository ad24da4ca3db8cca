import GRPCCore
import GRPCProtobuf
import Testing

@testable import LatchkeyClient

@Test func `an error has a reason, a field and a delay`() async throws {
  let server = TestServer()
  let failure = GoogleRPCStatus.of(
    .invalidArgument, "INVALID_EMAIL",
    .badRequest(violations: [.init(field: "credential.password.email", description: "no at sign")]),
    .retryInfo(delay: .seconds(7)))
  server.state.withLock { $0.failures = [failure] }
  try await withClient(of: server) { client in
    let error = try #require(await #expect(throws: LatchkeyError.self) { try await client.sessions.refresh(.init()) })
    #expect(error.code == .invalidArgument)
    #expect(error.reason == .invalidEmail)
    #expect(error.reasonName == "INVALID_EMAIL")
    #expect(error.metadata == ["field": "refresh_token"])
    #expect(error.field == "credential.password.email")
    #expect(error.retryDelay == .seconds(7))
    #expect(error.message == "hint")
    #expect("\(error)" == "INVALID_EMAIL: hint")
  }
}

@Test func `a reason of a newer server has a name only`() {
  let error = LatchkeyError(RPCError(GoogleRPCStatus.of(.notFound, "NEW_REASON")))
  #expect(error.reason == nil)
  #expect(error.reasonName == "NEW_REASON")
  #expect(error.field == "refresh_token")
}

@Test func `an error without details, or with those of another service, has no reason`() {
  let other = GoogleRPCStatus(code: .unavailable, message: "", details: .errorInfo(reason: "A", domain: "example.com"))
  let garbled = RPCError(code: .unavailable, message: "", metadata: ["grpc-status-details-bin": .binary([0xff])])
  for cause in [RPCError(other), garbled, RPCError(code: .unavailable, message: "")] {
    let error = LatchkeyError(cause)
    #expect(error.code == .unavailable)
    #expect(error.reason == nil)
    #expect(error.reasonName == "")
    #expect(error.metadata == [:])
    #expect(error.field == "")
    #expect(error.retryDelay == nil)
  }
}

@Test func `each reason has a number`() {
  let numbers = Latchkey_V1_ErrorReason.allCases.map(\.rawValue).filter { $0 != 0 }
  #expect(errorReasonNumbers.values.sorted() == numbers.sorted())
  #expect(errorReasonNumbers["TOKEN_EXPIRED"] == Latchkey_V1_ErrorReason.tokenExpired.rawValue)
}
