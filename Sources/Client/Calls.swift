internal import GRPC
internal import HTTP2
internal import Reactor

/// The request headers of a call, encoded once for all calls that share them.
package final class CallHead: Sendable {
  let fields: PreparedHeaders
  let timeoutMillis: Int64?

  /// Encodes the headers.
  ///
  /// - Parameter path: `/package.Service/Method`.
  package init(path: String, _ endpoint: Endpoint, _ options: CallOptions) throws(MetadataError) {
    for (name, value) in options.metadata {
      if let why = Metadata.refusal(name: name, value: value) { throw MetadataError(why: why) }
    }
    timeoutMillis = options.timeoutMillis
    fields = PreparedHeaders(
      RequestFields.list(
        path: path, authority: endpoint.authority, userAgent: "latchkey-client/" + Build.version,
        timeoutMillis: options.timeoutMillis, metadata: options.metadata))
  }
}

/// The result of a call, with the message not yet decoded.
package struct CallResult {
  let answer: Answer
  let wasNotProcessed: Bool

  init(_ answer: Answer, wasNotProcessed: Bool) {
    self.answer = answer
    self.wasNotProcessed = wasNotProcessed
  }
}

/// A call in progress on an HTTP/2 stream.
final class OpenCall {
  var reader: AnswerReader
  let deadlineMillis: Int64
  let completion: (CallResult) -> Void
  /// Receives each message of a response stream; nil for a unary call.
  let onMessage: ((Message) -> Void)?
  var hasHead = false

  init(
    _ reader: AnswerReader, deadlineMillis: Int64, onMessage: ((Message) -> Void)?,
    _ completion: @escaping (CallResult) -> Void
  ) {
    self.reader = reader
    self.deadlineMillis = deadlineMillis
    self.onMessage = onMessage
    self.completion = completion
  }
}
