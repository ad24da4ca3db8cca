internal import GRPC
internal import API
internal import Protobuf

/// grpc.reflection (doc/server-reflection.md) in versions v1 and v1alpha.
///
/// Both versions have the same messages (gRFC A15), and old tools use v1alpha only. Errors are messages in the stream,
/// not statuses.
package struct ReflectionService: Sendable {
  private let services: [String]

  package static let names = [ServerReflectionRPC.service, "grpc.reflection.v1alpha.ServerReflection"]

  /// Creates the service.
  ///
  /// - Parameter services: the full names of the services to list.
  package init(services: [String]) { self.services = services }

  package var methods: [Method] {
    ReflectionService.names.map { name in
      Method(
        "/\(name)/ServerReflectionInfo", timeLimitMillis: .max, access: .callers, isLookUp: true,
        .stream(fromClient: true) { _ in Conversation(services) })
    }
  }
}

private final class Conversation: StreamHandler {
  private let services: [String]

  init(_ services: [String]) { self.services = services }

  func received(_ message: Message, arena: Arena) throws -> StreamStep {
    let span = message.bytes.span.extracting(message.start..<message.end)
    let request = try ServerReflectionRequest.decode(span, arena: arena)
    let response = ServerReflectionResponse(
      validHost: request.host, originalRequest: request, messageResponse: answer(request.messageRequest))
    return StreamStep([response.encode(arena: arena)])
  }

  func ended(arena: Arena) -> StreamStep { StreamStep(isLast: true) }

  private func answer(
    _ request: ServerReflectionRequest.MessageRequest?
  ) -> ServerReflectionResponse.MessageResponse {
    switch request {
    case .listServices: .listServicesResponse(ListServiceResponse(service: services.map { ServiceResponse(name: $0) }))
    case .fileByFilename(let name): files(DescriptorSet.file(named: name), missing: "no file \(name)")
    case .fileContainingSymbol(let symbol):
      files(DescriptorSet.file(containingSymbol: symbol), missing: "no symbol \(symbol)")
    case .fileContainingExtension: failure(.notFound, "this server has no extensions")
    case .allExtensionNumbersOfType(let name):
      DescriptorSet.hasMessage(named: name)
        ? .allExtensionNumbersResponse(ExtensionNumberResponse(baseTypeName: name))
        : failure(.notFound, "no message \(name)")
    case nil: failure(.invalidArgument, "message_request is not set")
    }
  }

  /// Returns the file and all its imports, so that the client needs no further requests.
  private func files(_ file: DescriptorSet.File?, missing: String) -> ServerReflectionResponse.MessageResponse {
    guard let file else { return failure(.notFound, missing) }
    let bytes = DescriptorSet.withDependencies(file).map(\.bytes)
    return .fileDescriptorResponse(FileDescriptorResponse(fileDescriptorProto: bytes))
  }

  private func failure(_ code: GRPC.Status.Code, _ text: String) -> ServerReflectionResponse.MessageResponse {
    .errorResponse(ErrorResponse(errorCode: Int32(code.rawValue), errorMessage: text))
  }
}
