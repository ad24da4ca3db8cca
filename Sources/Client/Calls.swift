internal import GRPC
internal import HTTP2
internal import Reactor

/// The head of a call, prepared once for all calls that share it.
package final class CallHead: Sendable {
  let fields: PreparedHeaders
  let timeoutMillis: Int64?

  /// `path` is `/package.Service/Method`.
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

/// What a call came to, before anyone has read the message.
package struct CallResult {
  let answer: Answer
  let wasNotProcessed: Bool

  init(_ answer: Answer, wasNotProcessed: Bool) {
    self.answer = answer
    self.wasNotProcessed = wasNotProcessed
  }
}

/// A call that lives on a stream.
final class OpenCall {
  var reader: AnswerReader
  let deadlineMillis: Int64
  let completion: (CallResult) -> Void
  /// Of a call whose answer is a stream.
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
