internal import API
internal import Client
internal import Protobuf

/// What an iteration does next.
enum Step {
  case call(any Call)
  case done
  /// The response is incorrect.
  case wrong(String)
}

/// One call of an iteration: the request, and the step that follows the response.
protocol Call {
  /// The row in the report.
  var row: Int { get }
  /// The reason with which the server must reject the call; nil if the call must succeed.
  var rejection: String? { get }
  /// Sends the call over the slot's route. The slot receives the result.
  func send(from slot: CallSlot)
}

extension Call {
  var rejection: String? { nil }
}

/// The rows of the report: the TLS handshake, then all RPCs.
enum CallRow {
  static let handshake = 0
  /// Names such as `SessionService/Refresh`.
  static let names = ["TLS handshake"] + RPCPaths.all.map { String($0.split(separator: ".").last ?? "") }
}

struct UnaryCall<Request: ProtobufMessage, Response: ProtobufMessage>: Call {
  let rpc: RPC<Request, Response>
  let request: Request
  var rejection: String?
  let then: (Response, _ nowNanos: Int64) -> Step

  var row: Int { rpc.number + 1 }

  func send(from slot: CallSlot) {
    slot.route.begin(rpc, request) { [unowned slot, then] in slot.receive($0, then) }
  }
}

/// A call with a response stream, whose messages form a value. The client cancels the call when the value is complete.
struct StreamCall<Request: ProtobufMessage, Response: ProtobufMessage, Value>: Call {
  let rpc: RPC<Request, Response>
  let request: Request
  private(set) var value: Value
  /// Adds a message to the value. Returns whether the value is complete.
  let add: (inout Value, Response) -> Bool
  let then: (Value, _ nowNanos: Int64) -> Step
  private(set) var isComplete = false

  var row: Int { rpc.number + 1 }

  func send(from slot: CallSlot) {
    var call = self
    let take = { (message: Response) in
      call.take(message)
      return call.isComplete
    }
    slot.route.begin(rpc, request, cancelIf: take) { [unowned slot] status in
      slot.receive(call.isComplete || status.isOK ? .success(call.value) : .failure(status), call.then)
    }
  }

  mutating func take(_ message: Response) {
    if !isComplete { isComplete = add(&value, message) }
  }
}

/// A new connection with a TLS handshake.
struct HandshakeCall: Call {
  let then: (_ isResumed: Bool, _ nowNanos: Int64) -> Step

  var row: Int { CallRow.handshake }

  func send(from slot: CallSlot) {
    slot.route.connect { [unowned slot, then] in slot.receive($0, then) }
  }
}

extension Step {
  static func call<Request, Response>(
    _ rpc: RPC<Request, Response>, _ request: Request, then: @escaping (Response, _ nowNanos: Int64) -> Step
  ) -> Step {
    .call(UnaryCall(rpc: rpc, request: request, then: then))
  }

  /// Makes a call that the server must reject.
  static func rejected<Request, Response>(
    _ rpc: RPC<Request, Response>, _ request: Request, with reason: String, orElse flaw: String
  ) -> Step {
    .call(UnaryCall(rpc: rpc, request: request, rejection: reason) { _, _ in .wrong(flaw) })
  }

  /// Waits for the first matching message of a response stream.
  static func first<Request, Response>(
    _ rpc: RPC<Request, Response>, _ request: Request, where matches: @escaping (Response) -> Bool = { _ in true },
    then: @escaping (Response) -> Step
  ) -> Step {
    let add = { (first: inout Response?, message: Response) in
      guard matches(message) else { return false }
      first = message
      return true
    }
    return .call(
      StreamCall(rpc: rpc, request: request, value: nil, add: add) { first, _ in
        first.map(then) ?? .wrong("the stream ended early")
      })
  }

  /// Combines all messages of a response stream.
  static func all<Request, Response, Value>(
    _ rpc: RPC<Request, Response>, _ request: Request, into value: Value,
    _ add: @escaping (inout Value, Response) -> Void, then: @escaping (Value) -> Step
  ) -> Step {
    let add = { (value: inout Value, message: Response) in
      add(&value, message)
      return false
    }
    return .call(StreamCall(rpc: rpc, request: request, value: value, add: add) { value, _ in then(value) })
  }
}
