internal import GRPC
package import Wire

extension Connection {
  /// Begins a call with the values of Wire. The completion runs once, never before this returns.
  package func begin<Answer: WireDecodable>(
    _ head: CallHead, _ request: some WireEncodable, answering: Answer.Type = Answer.self,
    _ completion: @escaping (Result<Answer, CallStatus>) -> Void
  ) -> CallID? {
    begin(head, frame: request.encode(arena: arena)) { [self] result in completion(decoded(result)) }
  }

  private func decoded<Answer: WireDecodable>(_ result: CallResult) -> Result<Answer, CallStatus> {
    guard let message = result.answer.message else { return .failure(status(of: result)) }
    do throws(WireError) {
      return .success(try Answer.decode(message.bytes.span.extracting(message.start..<message.end), arena: arena))
    } catch {
      return .failure(CallStatus(.internal, "the answer is no message of its type"))
    }
  }
}

/// Makes one call after the other and waits for each, on a connection of its own: for programs that have nothing better
/// to do.
public struct Caller: Sendable {
  private let endpoint: Endpoint
  private let options: CallOptions

  public init(_ endpoint: Endpoint, _ options: CallOptions = CallOptions()) {
    self.endpoint = endpoint
    self.options = options
  }

  /// `path` is `/package.Service/Method`.
  package func call<Answer: WireDecodable>(
    _ path: String, _ request: some WireEncodable, answering: Answer.Type = Answer.self
  ) throws(CallStatus) -> Answer {
    var result = Result<Answer, CallStatus>.failure(CallStatus(.internal, "the loop ended before the call"))
    do {
      let head = try CallHead(path: path, endpoint, options)
      let loop = try EventLoop()
      let connection = Connection(to: endpoint, on: loop)
      _ = connection.begin(head, request) {
        result = $0
        connection.close()
        loop.stop()
      }
      loop.run()
    } catch {
      throw CallStatus(.internal, "\(error)")
    }
    return try result.get()
  }
}
