// The standard health protocol of gRPC (doc/health-checking.md).

internal import Messages

package struct HealthCheckRequest: Sendable, Equatable {
  package var service: String

  package init(service: String = "") {
    self.service = service
  }
}

extension HealthCheckRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Grpc__Health__V1__HealthCheckRequest> { unsafe grpc__health__v1__health_check_request__init }

  init(_ form: UnsafePointer<Grpc__Health__V1__HealthCheckRequest>) {
    unsafe self.init(service: text(form.pointee.service))
  }

  func fill(_ form: UnsafeMutablePointer<Grpc__Health__V1__HealthCheckRequest>, _ arena: Arena) {
    unsafe form.pointee.service = arena.text(service)
  }
}

package struct HealthCheckResponse: Sendable, Equatable {
  /// A number that came from a newer schema reads as `unknown`.
  package enum ServingStatus: Int32, Sendable {
    case unknown = 0, serving = 1, notServing = 2, serviceUnknown = 3
  }

  package var status: ServingStatus

  package init(status: ServingStatus = .unknown) {
    self.status = status
  }
}

extension HealthCheckResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Grpc__Health__V1__HealthCheckResponse> {
    unsafe grpc__health__v1__health_check_response__init
  }

  init(_ form: UnsafePointer<Grpc__Health__V1__HealthCheckResponse>) {
    unsafe self.init(status: ServingStatus(form.pointee.status))
  }

  func fill(_ form: UnsafeMutablePointer<Grpc__Health__V1__HealthCheckResponse>, _ arena: Arena) {
    unsafe form.pointee.status = status.form
  }
}

extension HealthCheckResponse.ServingStatus {
  typealias Form = Grpc__Health__V1__HealthCheckResponse__ServingStatus

  init(_ form: Form) {
    self = Self(rawValue: Int32(bitPattern: form.rawValue)) ?? .unknown
  }

  var form: Form { Form(rawValue: UInt32(bitPattern: rawValue)) }
}
