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

/// Makes calls and waits for each: for programs that have nothing better to do.
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
    try onConnection(path, options) { connection, _, head, end in
      _ = connection.begin(head, request) {
        result = $0
        end()
      }
    }
    return try result.get()
  }

  /// Calls that follow each other on one connection: `next` makes the first of nothing and each other one of the answer
  /// before it, until it makes none. Throws what it throws, and a `CallStatus` where a call fails.
  package func calls<Request: WireEncodable, Answer: WireDecodable>(
    _ path: String, answering: Answer.Type, _ next: @escaping (Answer?) throws -> Request?
  ) throws {
    var failure: (any Error)?
    try onConnection(path, options) { connection, _, head, end in
      func go(on answer: Answer?) {
        do {
          guard let request = try next(answer) else { return end() }
          _ = connection.begin(head, request) { (result: Result<Answer, CallStatus>) in
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

  /// A call whose answer is a stream, with as much time as it takes.
  ///
  /// - Parameter each: runs for each message; false: that was enough.
  package func stream<Answer: WireDecodable>(
    _ path: String, _ request: some WireEncodable, answering: Answer.Type, _ each: @escaping (Answer) -> Bool
  ) throws(CallStatus) {
    var status = CallStatus(.internal, "the loop ended before the call")
    var isUnreadable = false
    var isEnough = false
    try onConnection(path, CallOptions(timeoutMillis: nil, metadata: options.metadata)) { connection, loop, head, end in
      let frame = request.encode(arena: connection.arena)
      let take = { (message: Message) in
        // What came in one piece with the last that was wanted.
        guard !isEnough, !isUnreadable else { return }
        let span = message.bytes.span.extracting(message.start..<message.end)
        if let answer = try? Answer.decode(span, arena: connection.arena) {
          isEnough = !each(answer)
        } else {
          isUnreadable = true
        }
        if isEnough || isUnreadable { loop.later(end) }
      }
      _ = connection.begin(head, frame: frame, onMessage: take) { result in
        status = connection.status(of: result)
        end()
      }
    }
    if isUnreadable { throw CallStatus(.internal, "an answer is no message of its type") }
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
