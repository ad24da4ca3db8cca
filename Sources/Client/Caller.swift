internal import GRPC
package import API
package import Protobuf

extension Connection {
  /// Begins a call. The completion runs once, after this method has returned.
  package func begin<Answer: ProtobufDecodable>(
    _ head: CallHead, _ request: some ProtobufEncodable, answering: Answer.Type = Answer.self,
    _ completion: @escaping (Result<Answer, CallStatus>) -> Void
  ) -> CallID? {
    begin(head, frame: request.encode(arena: arena)) { [self] result in completion(decoded(result)) }
  }

  /// Begins a call with a response stream. `onMessage` runs for each message. The completion runs once, after the end
  /// of the stream and after this method has returned.
  package func begin<Response: ProtobufDecodable>(
    _ head: CallHead, _ request: some ProtobufEncodable, onMessage: @escaping (Response) -> Void,
    _ completion: @escaping (CallStatus) -> Void
  ) -> CallID? {
    var call: CallID?
    var isUnreadable = false
    let take = { [self] (message: Message) in
      guard !isUnreadable else { return }
      let span = message.bytes.span.extracting(message.start..<message.end)
      if let response = try? Response.decode(span, arena: arena) { return onMessage(response) }
      isUnreadable = true
      if let call { cancel(call) }
    }
    call = begin(head, frame: request.encode(arena: arena), onMessage: take) { [self] result in
      completion(isUnreadable ? .unreadable : status(of: result))
    }
    return call
  }

  private func decoded<Answer: ProtobufDecodable>(_ result: CallResult) -> Result<Answer, CallStatus> {
    guard let message = result.answer.message else { return .failure(status(of: result)) }
    do throws(ProtobufError) {
      return .success(try Answer.decode(message.bytes.span.extracting(message.start..<message.end), arena: arena))
    } catch {
      return .failure(.unreadable)
    }
  }
}

extension CallStatus {
  fileprivate static let unreadable = CallStatus(.internal, "the response is not a message of the expected type")
}

/// A blocking client, for programs that make one call after the other.
public struct Caller: Sendable {
  private let endpoint: Endpoint
  private let options: CallOptions

  public init(_ endpoint: Endpoint, _ options: CallOptions = CallOptions()) {
    self.endpoint = endpoint
    self.options = options
  }

  package func call<Request, Response>(
    _ rpc: RPC<Request, Response>, _ request: Request
  ) throws(CallStatus) -> Response {
    var result = Result<Response, CallStatus>.failure(CallStatus(.internal, "the loop ended before the call"))
    try onConnection(rpc.path, options) { connection, _, head, end in
      _ = connection.begin(head, request) {
        result = $0
        end()
      }
    }
    return try result.get()
  }

  /// Makes consecutive calls on one connection.
  ///
  /// - Parameter next: returns the next request for the previous response (nil at first), or nil to stop.
  /// - Throws: errors of `next`, and `CallStatus` if a call fails.
  package func calls<Request, Response>(
    _ rpc: RPC<Request, Response>, _ next: @escaping (Response?) throws -> Request?
  ) throws {
    var failure: (any Error)?
    try onConnection(rpc.path, options) { connection, _, head, end in
      func go(on answer: Response?) {
        do {
          guard let request = try next(answer) else { return end() }
          _ = connection.begin(head, request) { (result: Result<Response, CallStatus>) in
            switch result {
            case .success(let answer): go(on: answer)
            case .failure(let status):
              failure = status
              end()
            }
          }
        } catch {
          failure = error
          end()
        }
      }
      go(on: nil)
    }
    if let failure { throw failure }
  }

  /// Makes a call with a response stream, without a timeout.
  ///
  /// - Parameter each: runs for each message; returns false to end the call.
  package func stream<Request, Response>(
    _ rpc: RPC<Request, Response>, _ request: Request, _ each: @escaping (Response) -> Bool
  ) throws(CallStatus) {
    var status = CallStatus(.internal, "the loop ended before the call")
    var isEnough = false
    let options = CallOptions(timeoutMillis: nil, metadata: options.metadata)
    try onConnection(rpc.path, options) { connection, loop, head, end in
      let take = { (response: Response) in
        // Ignore messages that arrived together with the last wanted one.
        guard !isEnough else { return }
        isEnough = !each(response)
        if isEnough { loop.later(end) }
      }
      _ = connection.begin(head, request, onMessage: take) { ended in
        status = ended
        end()
      }
    }
    guard isEnough || status.isOK else { throw status }
  }

  /// Runs a loop with one connection until `end` is called.
  private func onConnection(
    _ path: String, _ options: CallOptions,
    _ work: (Connection, EventLoop, CallHead, _ end: @escaping () -> Void) -> Void
  ) throws(CallStatus) {
    do {
      let head = try CallHead(path: path, endpoint, options)
      let loop = try EventLoop()
      let connection = Connection(to: endpoint, on: loop)
      work(connection, loop, head) {
        connection.close()
        loop.stop()
      }
      loop.run()
    } catch {
      throw CallStatus(.internal, "\(error)")
    }
  }
}
