public import CProtobufC
internal import GRPC
internal import Messages
internal import Wire

/// A service of proto/ as protoc-c's functions take it: `latchkey__v1__auth_service__sign_in(stub.service, …)` sends
/// its call over the stub's connection, and runs its closure on the loop's thread once the call has ended, with nil
/// where it failed. Where the answer is a stream, the closure runs with each message, and with nil at the end, however
/// that came.
@safe public final class Stub {
  public enum Service: Sendable, CaseIterable {
    case auth, account, session, providerFlow, secondFactor, verification, admin, event, health

    /// The methods whose answer is a stream; protobuf-c's descriptors do not say it.
    fileprivate var streams: Set<String> {
      switch self {
      case .auth, .account, .session, .providerFlow, .secondFactor, .verification: []
      case .admin: ["ImportAccounts", "ExportAccounts"]
      case .event, .health: ["Watch"]
      }
    }
  }

  /// What the generated functions take first. Named here, so that who calls them needs no protobuf-c of his own.
  public typealias ServicePointer = UnsafeMutablePointer<ProtobufCService>

  /// What stands behind `service` in memory, so that the generated code finds its way back here.
  @safe private struct Form {
    var service: ProtobufCService
    var stub: UnsafeMutableRawPointer
  }

  public let connection: Connection
  /// How the call ended whose closure runs; OK while messages of a stream come.
  public private(set) var status = CallStatus.ok
  /// The call that was begun last, to be cancelled by; nil: the connection took no more.
  public private(set) var lastCall: CallID?
  private let form: UnsafeMutablePointer<Form>
  private let heads: [CallHead]
  /// By method: its answer is a stream.
  private let streams: [Bool]

  /// - Parameter options: of every call that is begun here; other options are another stub's.
  public init(
    _ service: Service, on connection: Connection, _ options: CallOptions = CallOptions()
  ) throws(MetadataError) {
    self.connection = connection
    let descriptor = unsafe service.descriptor
    var heads: [CallHead] = []
    var streams: [Bool] = []
    for index in 0..<Int(unsafe descriptor.pointee.n_methods) {
      let name = unsafe String(cString: descriptor.pointee.methods[index].name)
      let path = unsafe "/\(String(cString: descriptor.pointee.name))/\(name)"
      heads.append(try CallHead(path: path, connection.endpoint, options))
      streams.append(service.streams.contains(name))
    }
    self.heads = heads
    self.streams = streams
    unsafe form = .allocate(capacity: 1)
    let base = unsafe ProtobufCService(descriptor: descriptor, invoke: invokeStub, destroy: nil)
    unsafe form.initialize(to: Form(service: base, stub: Unmanaged.passUnretained(self).toOpaque()))
  }

  deinit { unsafe form.deallocate() }

  /// Lives as long as the stub, which calls that are under way keep alive.
  public var service: ServicePointer {
    unsafe UnsafeMutableRawPointer(form).assumingMemoryBound(to: ProtobufCService.self)
  }

  fileprivate static func of(_ service: UnsafeMutablePointer<ProtobufCService>) -> Stub {
    let form = unsafe UnsafeMutableRawPointer(service).assumingMemoryBound(to: Form.self)
    return unsafe Unmanaged<Stub>.fromOpaque(form.pointee.stub).takeUnretainedValue()
  }

  fileprivate func invoke(
    _ method: Int, _ request: UnsafePointer<ProtobufCMessage>, _ closure: ProtobufCClosure?,
    _ context: UnsafeMutableRawPointer?
  ) {
    let output = unsafe UnsafeRawPointer(service.pointee.descriptor.pointee.methods[method].output!)
    let (head, frame) = (heads[method], unsafe frame(ofForm: request))
    guard streams[method] else {
      lastCall = connection.begin(head, frame: frame) { [self] result in
        unsafe finish(result, output, closure, context)
      }
      return
    }
    var isUnreadable = false
    let take = { [self] (message: Message) in
      guard !isUnreadable else { return }
      isUnreadable = unsafe !hear(message, output, closure, context)
    }
    lastCall = connection.begin(head, frame: frame, onMessage: take) { [self] result in
      status = isUnreadable ? Stub.unreadable : connection.status(of: result)
      unsafe closure?(nil, context)
    }
  }

  private func finish(
    _ result: CallResult, _ output: UnsafeRawPointer, _ closure: ProtobufCClosure?, _ context: UnsafeMutableRawPointer?
  ) {
    guard let message = result.answer.message else {
      status = connection.status(of: result)
      unsafe closure?(nil, context)
      return
    }
    guard unsafe !hear(message, output, closure, context) else { return }
    status = Stub.unreadable
    unsafe closure?(nil, context)
  }

  private static let unreadable = CallStatus(.internal, "the answer is no message of its type")

  /// Runs the closure with a message; false where it is none of its type.
  private func hear(
    _ message: Message, _ output: UnsafeRawPointer, _ closure: ProtobufCClosure?, _ context: UnsafeMutableRawPointer?
  ) -> Bool {
    do {
      try unsafe connection.arena.withForm(
        message.bytes.span.extracting(message.start..<message.end), descriptor: output) { form in
        status = .ok
        unsafe closure?(form.assumingMemoryBound(to: ProtobufCMessage.self), context)
      }
      return true
    } catch {
      return false
    }
  }
}

private let invokeStub:
  @convention(c) (
    UnsafeMutablePointer<ProtobufCService>?, UInt32, UnsafePointer<ProtobufCMessage>?, ProtobufCClosure?,
    UnsafeMutableRawPointer?
  ) -> Void = { service, method, request, closure, context in
    unsafe Stub.of(service!).invoke(Int(method), request!, closure, context)
  }

extension Stub.Service {
  /// Read out of an initialised struct, since Swift has no address of a C constant.
  fileprivate var descriptor: UnsafePointer<ProtobufCServiceDescriptor> {
    switch self {
    case .auth:
      var form = unsafe Latchkey__V1__AuthService_Service()
      unsafe latchkey__v1__auth_service__init(&form, nil)
      return unsafe form.base.descriptor
    case .account:
      var form = unsafe Latchkey__V1__AccountService_Service()
      unsafe latchkey__v1__account_service__init(&form, nil)
      return unsafe form.base.descriptor
    case .session:
      var form = unsafe Latchkey__V1__SessionService_Service()
      unsafe latchkey__v1__session_service__init(&form, nil)
      return unsafe form.base.descriptor
    case .providerFlow:
      var form = unsafe Latchkey__V1__ProviderFlowService_Service()
      unsafe latchkey__v1__provider_flow_service__init(&form, nil)
      return unsafe form.base.descriptor
    case .secondFactor:
      var form = unsafe Latchkey__V1__SecondFactorService_Service()
      unsafe latchkey__v1__second_factor_service__init(&form, nil)
      return unsafe form.base.descriptor
    case .verification:
      var form = unsafe Latchkey__V1__VerificationService_Service()
      unsafe latchkey__v1__verification_service__init(&form, nil)
      return unsafe form.base.descriptor
    case .event:
      var form = unsafe Latchkey__V1__EventService_Service()
      unsafe latchkey__v1__event_service__init(&form, nil)
      return unsafe form.base.descriptor
    case .admin:
      var form = unsafe Latchkey__V1__AdminService_Service()
      unsafe latchkey__v1__admin_service__init(&form, nil)
      return unsafe form.base.descriptor
    case .health:
      var form = unsafe Grpc__Health__V1__Health_Service()
      unsafe grpc__health__v1__health__init(&form, nil)
      return unsafe form.base.descriptor
    }
  }
}
