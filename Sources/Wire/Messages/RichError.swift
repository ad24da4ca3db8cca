// The rich error model of gRPC: what travels in grpc-status-details-bin.

internal import Messages

package struct Status: Sendable, Equatable {
  package var code: Int32
  package var message: String
  package var details: [AnyMessage]

  package init(code: Int32 = 0, message: String = "", details: [AnyMessage] = []) {
    self.code = code
    self.message = message
    self.details = details
  }
}

extension Status: WireMessage, @unsafe Mapped {
  static var blank: Blank<Google__Rpc__Status> { unsafe google__rpc__status__init }

  init(_ form: UnsafePointer<Google__Rpc__Status>) {
    unsafe self.init(
      code: form.pointee.code, message: text(form.pointee.message),
      details: list(form.pointee.n_details, form.pointee.details))
  }

  func fill(_ form: UnsafeMutablePointer<Google__Rpc__Status>, _ arena: Arena) {
    unsafe form.pointee.code = code
    unsafe form.pointee.message = arena.text(message)
    unsafe (form.pointee.n_details, form.pointee.details) = arena.list(details)
  }
}

package struct AnyMessage: Sendable, Equatable {
  package var typeURL: String
  package var value: [UInt8]

  package init(typeURL: String = "", value: [UInt8] = []) {
    self.typeURL = typeURL
    self.value = value
  }
}

extension AnyMessage: WireMessage, @unsafe Mapped {
  static var blank: Blank<Google__Protobuf__Any> { unsafe google__protobuf__any__init }

  init(_ form: UnsafePointer<Google__Protobuf__Any>) {
    unsafe self.init(typeURL: text(form.pointee.type_url), value: bytes(form.pointee.value))
  }

  func fill(_ form: UnsafeMutablePointer<Google__Protobuf__Any>, _ arena: Arena) {
    unsafe form.pointee.type_url = arena.text(typeURL)
    unsafe form.pointee.value = arena.bytes(value)
  }
}

package struct ErrorInfo: Sendable, Equatable {
  package var reason: String
  package var domain: String
  package var metadata: [String: String]

  package init(reason: String = "", domain: String = "", metadata: [String: String] = [:]) {
    self.reason = reason
    self.domain = domain
    self.metadata = metadata
  }
}

extension ErrorInfo: WireMessage, @unsafe Mapped {
  static var blank: Blank<Google__Rpc__ErrorInfo> { unsafe google__rpc__error_info__init }

  init(_ form: UnsafePointer<Google__Rpc__ErrorInfo>) {
    unsafe self.init(
      reason: text(form.pointee.reason), domain: text(form.pointee.domain),
      metadata: Entry.dictionary(list(form.pointee.n_metadata, form.pointee.metadata)))
  }

  func fill(_ form: UnsafeMutablePointer<Google__Rpc__ErrorInfo>, _ arena: Arena) {
    unsafe form.pointee.reason = arena.text(reason)
    unsafe form.pointee.domain = arena.text(domain)
    unsafe (form.pointee.n_metadata, form.pointee.metadata) = arena.list(Entry.list(metadata))
  }
}

package struct RetryInfo: Sendable, Equatable {
  package var retryDelayMillis: Int64?

  package init(retryDelayMillis: Int64? = nil) {
    self.retryDelayMillis = retryDelayMillis
  }
}

extension RetryInfo: WireMessage, @unsafe Mapped {
  static var blank: Blank<Google__Rpc__RetryInfo> { unsafe google__rpc__retry_info__init }

  init(_ form: UnsafePointer<Google__Rpc__RetryInfo>) {
    unsafe self.init(retryDelayMillis: millis(form.pointee.retry_delay))
  }

  func fill(_ form: UnsafeMutablePointer<Google__Rpc__RetryInfo>, _ arena: Arena) {
    unsafe form.pointee.retry_delay = arena.duration(retryDelayMillis)
  }
}

package struct BadRequest: Sendable, Equatable {
  package var fieldViolations: [BadRequest.FieldViolation]

  package init(fieldViolations: [BadRequest.FieldViolation] = []) {
    self.fieldViolations = fieldViolations
  }
}

extension BadRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Google__Rpc__BadRequest> { unsafe google__rpc__bad_request__init }

  init(_ form: UnsafePointer<Google__Rpc__BadRequest>) {
    unsafe self.init(fieldViolations: list(form.pointee.n_field_violations, form.pointee.field_violations))
  }

  func fill(_ form: UnsafeMutablePointer<Google__Rpc__BadRequest>, _ arena: Arena) {
    unsafe (form.pointee.n_field_violations, form.pointee.field_violations) = arena.list(fieldViolations)
  }
}

extension BadRequest {
  package struct FieldViolation: Sendable, Equatable {
    package var field: String
    package var description: String

    package init(field: String = "", description: String = "") {
      self.field = field
      self.description = description
    }
  }
}

extension BadRequest.FieldViolation: WireMessage, @unsafe Mapped {
  static var blank: Blank<Google__Rpc__BadRequest__FieldViolation> {
    unsafe google__rpc__bad_request__field_violation__init
  }

  init(_ form: UnsafePointer<Google__Rpc__BadRequest__FieldViolation>) {
    unsafe self.init(field: text(form.pointee.field), description: text(form.pointee.description))
  }

  func fill(_ form: UnsafeMutablePointer<Google__Rpc__BadRequest__FieldViolation>, _ arena: Arena) {
    unsafe form.pointee.field = arena.text(field)
    unsafe form.pointee.description = arena.text(description)
  }
}

extension WireEncodable {
  /// The message as a detail of a `Status` (google.protobuf.Any).
  package func asAny(arena: Arena) -> AnyMessage {
    AnyMessage(typeURL: "type.googleapis.com/" + Self.messageName, value: encodeBare(arena: arena))
  }
}

extension ErrorInfo {
  struct Entry: Sendable {
    let key: String
    let value: String
  }
}

extension ErrorInfo.Entry: @unsafe MapEntry {
  static var blank: Blank<Google__Rpc__ErrorInfo__MetadataEntry> {
    unsafe google__rpc__error_info__metadata_entry__init
  }

  init(_ form: UnsafePointer<Google__Rpc__ErrorInfo__MetadataEntry>) {
    unsafe self.init(key: text(form.pointee.key), value: text(form.pointee.value))
  }

  func fill(_ form: UnsafeMutablePointer<Google__Rpc__ErrorInfo__MetadataEntry>, _ arena: Arena) {
    unsafe form.pointee.key = arena.text(key)
    unsafe form.pointee.value = arena.text(value)
  }
}
