internal import GRPC
package import Tracing
internal import Synchronization

/// A span in progress. It is exported when it ends; a second end has no effect.
package final class RecordedSpan: Tracing.Span {
  private struct State {
    var name: String
    var attributes: SpanAttributes = [:]
    var failure: String?
    var hasEnded = false
  }

  package let context: ServiceContext
  private let identity: SpanIdentity?
  private let parentID: UInt64
  private let kind: SpanKind
  private let startNanos: UInt64
  private let buffer: SpanBuffer
  private let state: Mutex<State>

  /// - Parameter identity: nil: the span is not exported.
  init(
    _ name: String, _ identity: SpanIdentity?, parentID: UInt64, _ kind: SpanKind, startNanos: UInt64,
    in context: ServiceContext, _ buffer: SpanBuffer
  ) {
    var own = context
    own.span = identity
    self.context = own
    self.identity = identity
    self.parentID = parentID
    self.kind = kind
    self.startNanos = startNanos
    self.buffer = buffer
    state = Mutex(State(name: name))
  }

  package var isRecording: Bool { identity != nil && !state.withLock(\.hasEnded) }

  package var operationName: String {
    get { state.withLock(\.name) }
    set { state.withLock { $0.name = newValue } }
  }

  package var attributes: SpanAttributes {
    get { state.withLock(\.attributes) }
    set { state.withLock { $0.attributes = newValue } }
  }

  package func setStatus(_ status: SpanStatus) {
    state.withLock { $0.failure = status.code == .error ? status.message ?? "" : nil }
  }

  // Events and links are not exported.
  package func addEvent(_ event: SpanEvent) {}
  package func addLink(_ link: SpanLink) {}

  /// Records the type of the error only, because its text may contain what must not leave the server.
  package func recordError<Instant: TracerInstant>(
    _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
  ) {
    state.withLock { $0.attributes["error.type"] = "\(type(of: error))" }
  }

  package func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
    guard let identity else { return }
    let ended = state.withLock { state -> State? in
      defer { state.hasEnded = true }
      return state.hasEnded ? nil : state
    }
    guard let ended else { return }
    var attributes: [(name: String, value: FinishedSpan.Value)] = []
    ended.attributes.forEach { name, value in
      switch value {
      case .int32(let number): attributes.append((name, .integer(Int64(number))))
      case .int64(let number): attributes.append((name, .integer(number)))
      case .bool(let flag): attributes.append((name, .flag(flag)))
      case .string(let text): attributes.append((name, .text(text)))
      default: break
      }
    }
    buffer.add(
      FinishedSpan(
        identity: identity, parentID: parentID, name: ended.name, kind: kind, startNanos: startNanos,
        endNanos: max(startNanos, instant().nanosecondsSinceEpoch), attributes: attributes, failure: ended.failure))
  }
}
