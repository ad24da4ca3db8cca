package import GRPC

/// Decides which calls are exported.
package struct TraceSampler: Sendable {
  private let ratio: Double
  private let threshold: UInt64
  private let followsCallers: Bool

  /// - Parameters:
  ///   - ratio: share of the traces that begin here, from 0 to 1.
  ///   - followsCallers: a trace of an identified caller is exported if and only if the caller samples it.
  package init(ratio: Double, followsCallers: Bool) {
    self.ratio = ratio
    threshold = ratio >= 1 ? .max : UInt64(max(0, ratio) * 0x1p63)
    self.followsCallers = followsCallers
  }

  /// Decides about a trace. If the client chose the trace ID and is not followed, the span ID of the server decides:
  /// with a chosen trace ID, the client would decide.
  package func samples(_ trace: CallTrace, isIdentified: Bool) -> Bool {
    guard let parent = trace.parent else { return samples(trace.traceID) }
    return followsCallers && isIdentified ? parent.isSampled : samples(number: trace.spanID)
  }

  /// Decides about a trace that begins here. A part of its ID decides, so that all servers with one ratio decide alike.
  func samples(_ traceID: TraceID) -> Bool { samples(number: traceID.low) }

  private func samples(number: UInt64) -> Bool { ratio >= 1 || number >> 1 < threshold }
}
