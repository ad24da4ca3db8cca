package import GRPC

/// The decision which calls are exported.
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

  /// Decides about a trace. The part of the trace ID decides, so that all servers with one ratio decide alike.
  package func samples(_ trace: CallTrace, isIdentified: Bool) -> Bool {
    if followsCallers, isIdentified, let parent = trace.parent { return parent.isSampled }
    return samples(trace.traceID)
  }

  func samples(_ traceID: TraceID) -> Bool { ratio >= 1 || traceID.low >> 1 < threshold }
}
