import TestSupport
import Testing
import API

@testable import Services

private let services = ["latchkey.v1.AuthService", "grpc.health.v1.Health"]

private func ask(
  _ request: ServerReflectionRequest, by path: String = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
) throws -> ServerReflectionResponse {
  let conversation = try stream(try method(path, of: ReflectionService(services: services).methods))
  let step = try conversation.received(message(request), arena: roomyArena())
  #expect(!step.isLast)
  return try decoded(try #require(step.messages.first), as: ServerReflectionResponse.self)
}

private func error(_ request: ServerReflectionRequest.MessageRequest?) throws -> Int32? {
  guard case .errorResponse(let error) = try ask(ServerReflectionRequest(messageRequest: request)).messageResponse
  else { return nil }
  #expect(!error.errorMessage.isEmpty)
  return error.errorCode
}

@Test(arguments: ["v1", "v1alpha"])
func `reflection lists the services under both of its own names`(version: String) throws {
  let request = ServerReflectionRequest(host: "here", messageRequest: .listServices("*"))
  let response = try ask(request, by: "/grpc.reflection.\(version).ServerReflection/ServerReflectionInfo")
  #expect(response.validHost == "here" && response.originalRequest == request)
  #expect(
    response.messageResponse
      == .listServicesResponse(ListServiceResponse(service: services.map { ServiceResponse(name: $0) })))
}

@Test(arguments: [
  ServerReflectionRequest.MessageRequest.fileByFilename("latchkey/v1/auth_service.proto"),
  .fileContainingSymbol("latchkey.v1.AuthService"), .fileContainingSymbol("latchkey.v1.AuthService.SignIn"),
  .fileContainingSymbol("latchkey.v1.SignInRequest"),
])
func `a file is returned first and with all its imports, by its name or a symbol in it`(
  request: ServerReflectionRequest.MessageRequest
) throws {
  guard case .fileDescriptorResponse(let files) = try ask(ServerReflectionRequest(messageRequest: request))
    .messageResponse
  else {
    Issue.record("no file")
    return
  }
  let file = try #require(DescriptorSet.file(named: "latchkey/v1/auth_service.proto"))
  #expect(files.fileDescriptorProto == DescriptorSet.withDependencies(file).map(\.bytes))
  #expect(files.fileDescriptorProto.count > 1)
}

@Test func `an unknown symbol is an error inside the stream, which continues`() throws {
  #expect(try error(.fileByFilename("latchkey/v1/nothing.proto")) == 5)
  #expect(try error(.fileContainingSymbol("latchkey.v1.Nothing")) == 5)
  #expect(try error(.fileContainingSymbol("")) == 5)
  #expect(try error(.fileContainingExtension(ExtensionRequest())) == 5)
  #expect(try error(.allExtensionNumbersOfType("latchkey.v1.Nothing")) == 5)
  #expect(try error(.allExtensionNumbersOfType("latchkey.v1.AuthService")) == 5)
  #expect(try error(nil) == 3)
}

@Test func `a known message has no extensions`() throws {
  let request = ServerReflectionRequest(messageRequest: .allExtensionNumbersOfType("latchkey.v1.Account"))
  #expect(
    try ask(request).messageResponse
      == .allExtensionNumbersResponse(ExtensionNumberResponse(baseTypeName: "latchkey.v1.Account")))
}

@Test(arguments: [
  "latchkey.v1.SignInRequest.credential", "latchkey.v1.SignInResponse.outcome", "latchkey.v1.PROOF_PURPOSE_UNSPECIFIED",
  "latchkey.v1.ProofPurpose.PROOF_PURPOSE_UNSPECIFIED",
])
func `a field, a oneof and a value of an enum are found by their names`(symbol: String) {
  #expect(DescriptorSet.file(containingSymbol: symbol) != nil)
}

@Test func `one stream answers many requests, and ends with its client`() throws {
  let conversation = try stream(ReflectionService(services: services).methods[0])
  for _ in 0..<3 {
    let request = ServerReflectionRequest(messageRequest: .listServices(""))
    #expect(try conversation.received(message(request), arena: roomyArena()).messages.count == 1)
  }
  #expect(conversation.woken(arena: roomyArena()).messages.isEmpty)
  #expect(conversation.ended(arena: roomyArena()).isLast)
}
