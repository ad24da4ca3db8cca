// The reflection protocol of gRPC (doc/server-reflection.md). Its packages v1 and v1alpha are the same on the wire
// (gRFC A15), so both are read and written as v1.

internal import CProtobufC
internal import Messages

package struct ServerReflectionRequest: Sendable, Equatable {
  package enum MessageRequest: Sendable, Equatable {
    case fileByFilename(String)
    case fileContainingSymbol(String)
    case fileContainingExtension(ExtensionRequest)
    case allExtensionNumbersOfType(String)
    case listServices(String)
  }

  package var host: String
  package var messageRequest: MessageRequest?

  package init(host: String = "", messageRequest: MessageRequest? = nil) {
    self.host = host
    self.messageRequest = messageRequest
  }
}

extension ServerReflectionRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Grpc__Reflection__V1__ServerReflectionRequest> {
    unsafe grpc__reflection__v1__server_reflection_request__init
  }

  init(_ form: UnsafePointer<Grpc__Reflection__V1__ServerReflectionRequest>) {
    unsafe self.init(host: text(form.pointee.host))
    switch unsafe form.pointee.message_request_case {
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_BY_FILENAME:
      messageRequest = unsafe .fileByFilename(text(form.pointee.file_by_filename))
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL:
      messageRequest = unsafe .fileContainingSymbol(text(form.pointee.file_containing_symbol))
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_EXTENSION:
      messageRequest = unsafe one(form.pointee.file_containing_extension).map(MessageRequest.fileContainingExtension)
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_ALL_EXTENSION_NUMBERS_OF_TYPE:
      messageRequest = unsafe .allExtensionNumbersOfType(text(form.pointee.all_extension_numbers_of_type))
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_LIST_SERVICES:
      messageRequest = unsafe .listServices(text(form.pointee.list_services))
    default:
      break
    }
  }

  func fill(_ form: UnsafeMutablePointer<Grpc__Reflection__V1__ServerReflectionRequest>, _ arena: Arena) {
    unsafe form.pointee.host = arena.text(host)
    switch messageRequest {
    case .fileByFilename(let value):
      unsafe form.pointee.message_request_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_BY_FILENAME
      unsafe form.pointee.file_by_filename = arena.text(value)
    case .fileContainingSymbol(let value):
      unsafe form.pointee.message_request_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_SYMBOL
      unsafe form.pointee.file_containing_symbol = arena.text(value)
    case .fileContainingExtension(let value):
      unsafe form.pointee.message_request_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_FILE_CONTAINING_EXTENSION
      unsafe form.pointee.file_containing_extension = arena.form(value)
    case .allExtensionNumbersOfType(let value):
      unsafe form.pointee.message_request_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_ALL_EXTENSION_NUMBERS_OF_TYPE
      unsafe form.pointee.all_extension_numbers_of_type = arena.text(value)
    case .listServices(let value):
      unsafe form.pointee.message_request_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__MESSAGE_REQUEST_LIST_SERVICES
      unsafe form.pointee.list_services = arena.text(value)
    case nil:
      break
    }
  }
}

package struct ExtensionRequest: Sendable, Equatable {
  package var containingType: String
  package var extensionNumber: Int32

  package init(containingType: String = "", extensionNumber: Int32 = 0) {
    self.containingType = containingType
    self.extensionNumber = extensionNumber
  }
}

extension ExtensionRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Grpc__Reflection__V1__ExtensionRequest> {
    unsafe grpc__reflection__v1__extension_request__init
  }

  init(_ form: UnsafePointer<Grpc__Reflection__V1__ExtensionRequest>) {
    unsafe self.init(containingType: text(form.pointee.containing_type), extensionNumber: form.pointee.extension_number)
  }

  func fill(_ form: UnsafeMutablePointer<Grpc__Reflection__V1__ExtensionRequest>, _ arena: Arena) {
    unsafe form.pointee.containing_type = arena.text(containingType)
    unsafe form.pointee.extension_number = extensionNumber
  }
}

package struct ServerReflectionResponse: Sendable, Equatable {
  package enum MessageResponse: Sendable, Equatable {
    case fileDescriptorResponse(FileDescriptorResponse)
    case allExtensionNumbersResponse(ExtensionNumberResponse)
    case listServicesResponse(ListServiceResponse)
    case errorResponse(ErrorResponse)
  }

  package var validHost: String
  package var originalRequest: ServerReflectionRequest?
  package var messageResponse: MessageResponse?

  package init(
    validHost: String = "", originalRequest: ServerReflectionRequest? = nil, messageResponse: MessageResponse? = nil
  ) {
    self.validHost = validHost
    self.originalRequest = originalRequest
    self.messageResponse = messageResponse
  }
}

extension ServerReflectionResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Grpc__Reflection__V1__ServerReflectionResponse> {
    unsafe grpc__reflection__v1__server_reflection_response__init
  }

  init(_ form: UnsafePointer<Grpc__Reflection__V1__ServerReflectionResponse>) {
    unsafe self.init(validHost: text(form.pointee.valid_host), originalRequest: one(form.pointee.original_request))
    switch unsafe form.pointee.message_response_case {
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_FILE_DESCRIPTOR_RESPONSE:
      messageResponse = unsafe one(form.pointee.file_descriptor_response).map(MessageResponse.fileDescriptorResponse)
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ALL_EXTENSION_NUMBERS_RESPONSE:
      messageResponse = unsafe one(form.pointee.all_extension_numbers_response)
        .map(MessageResponse.allExtensionNumbersResponse)
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE:
      messageResponse = unsafe one(form.pointee.list_services_response).map(MessageResponse.listServicesResponse)
    case GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ERROR_RESPONSE:
      messageResponse = unsafe one(form.pointee.error_response).map(MessageResponse.errorResponse)
    default:
      break
    }
  }

  func fill(_ form: UnsafeMutablePointer<Grpc__Reflection__V1__ServerReflectionResponse>, _ arena: Arena) {
    unsafe form.pointee.valid_host = arena.text(validHost)
    unsafe form.pointee.original_request = arena.one(originalRequest)
    switch messageResponse {
    case .fileDescriptorResponse(let value):
      unsafe form.pointee.message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_FILE_DESCRIPTOR_RESPONSE
      unsafe form.pointee.file_descriptor_response = arena.form(value)
    case .allExtensionNumbersResponse(let value):
      unsafe form.pointee.message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ALL_EXTENSION_NUMBERS_RESPONSE
      unsafe form.pointee.all_extension_numbers_response = arena.form(value)
    case .listServicesResponse(let value):
      unsafe form.pointee.message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_LIST_SERVICES_RESPONSE
      unsafe form.pointee.list_services_response = arena.form(value)
    case .errorResponse(let value):
      unsafe form.pointee.message_response_case =
        GRPC__REFLECTION__V1__SERVER_REFLECTION_RESPONSE__MESSAGE_RESPONSE_ERROR_RESPONSE
      unsafe form.pointee.error_response = arena.form(value)
    case nil:
      break
    }
  }
}

package struct FileDescriptorResponse: Sendable, Equatable {
  package var fileDescriptorProto: [[UInt8]]

  package init(fileDescriptorProto: [[UInt8]] = []) {
    self.fileDescriptorProto = fileDescriptorProto
  }
}

extension FileDescriptorResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Grpc__Reflection__V1__FileDescriptorResponse> {
    unsafe grpc__reflection__v1__file_descriptor_response__init
  }

  init(_ form: UnsafePointer<Grpc__Reflection__V1__FileDescriptorResponse>) {
    unsafe self.init(
      fileDescriptorProto: bytes(form.pointee.n_file_descriptor_proto, form.pointee.file_descriptor_proto))
  }

  func fill(_ form: UnsafeMutablePointer<Grpc__Reflection__V1__FileDescriptorResponse>, _ arena: Arena) {
    unsafe (form.pointee.n_file_descriptor_proto, form.pointee.file_descriptor_proto) = arena.bytes(fileDescriptorProto)
  }
}

package struct ExtensionNumberResponse: Sendable, Equatable {
  package var baseTypeName: String
  package var extensionNumber: [Int32]

  package init(baseTypeName: String = "", extensionNumber: [Int32] = []) {
    self.baseTypeName = baseTypeName
    self.extensionNumber = extensionNumber
  }
}

extension ExtensionNumberResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Grpc__Reflection__V1__ExtensionNumberResponse> {
    unsafe grpc__reflection__v1__extension_number_response__init
  }

  init(_ form: UnsafePointer<Grpc__Reflection__V1__ExtensionNumberResponse>) {
    unsafe self.init(
      baseTypeName: text(form.pointee.base_type_name),
      extensionNumber: numbers(form.pointee.n_extension_number, form.pointee.extension_number))
  }

  func fill(_ form: UnsafeMutablePointer<Grpc__Reflection__V1__ExtensionNumberResponse>, _ arena: Arena) {
    unsafe form.pointee.base_type_name = arena.text(baseTypeName)
    unsafe (form.pointee.n_extension_number, form.pointee.extension_number) = arena.array(extensionNumber) { $0 }
  }
}

package struct ListServiceResponse: Sendable, Equatable {
  package var service: [ServiceResponse]

  package init(service: [ServiceResponse] = []) {
    self.service = service
  }
}

extension ListServiceResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Grpc__Reflection__V1__ListServiceResponse> {
    unsafe grpc__reflection__v1__list_service_response__init
  }

  init(_ form: UnsafePointer<Grpc__Reflection__V1__ListServiceResponse>) {
    unsafe self.init(service: list(form.pointee.n_service, form.pointee.service))
  }

  func fill(_ form: UnsafeMutablePointer<Grpc__Reflection__V1__ListServiceResponse>, _ arena: Arena) {
    unsafe (form.pointee.n_service, form.pointee.service) = arena.list(service)
  }
}

package struct ServiceResponse: Sendable, Equatable {
  package var name: String

  package init(name: String = "") {
    self.name = name
  }
}

extension ServiceResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Grpc__Reflection__V1__ServiceResponse> { unsafe grpc__reflection__v1__service_response__init }

  init(_ form: UnsafePointer<Grpc__Reflection__V1__ServiceResponse>) {
    unsafe self.init(name: text(form.pointee.name))
  }

  func fill(_ form: UnsafeMutablePointer<Grpc__Reflection__V1__ServiceResponse>, _ arena: Arena) {
    unsafe form.pointee.name = arena.text(name)
  }
}

package struct ErrorResponse: Sendable, Equatable {
  package var errorCode: Int32
  package var errorMessage: String

  package init(errorCode: Int32 = 0, errorMessage: String = "") {
    self.errorCode = errorCode
    self.errorMessage = errorMessage
  }
}

extension ErrorResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Grpc__Reflection__V1__ErrorResponse> { unsafe grpc__reflection__v1__error_response__init }

  init(_ form: UnsafePointer<Grpc__Reflection__V1__ErrorResponse>) {
    unsafe self.init(errorCode: form.pointee.error_code, errorMessage: text(form.pointee.error_message))
  }

  func fill(_ form: UnsafeMutablePointer<Grpc__Reflection__V1__ErrorResponse>, _ arena: Arena) {
    unsafe form.pointee.error_code = errorCode
    unsafe form.pointee.error_message = arena.text(errorMessage)
  }
}
