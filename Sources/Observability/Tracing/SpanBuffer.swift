internal import Synchronization

/// Finished spans that wait for export. Adding one never blocks: past the limit, spans are dropped and counted.
package final class SpanBuffer: Sendable {
  package static let spansMax = 4_096

  private struct State {
    var spans: [FinishedSpan] = []
    var dropped = 0
    var exported = 0
    var failed = 0
  }

  private let state = Mutex(State())

  package init() {}

  func add(_ span: FinishedSpan) {
    state.withLock { state in
      guard state.spans.count < SpanBuffer.spansMax else {
        state.dropped += 1
        return
      }
      state.spans.append(span)
    }
  }

  /// Removes the oldest spans, at most this many.
  package func take(atMost count: Int) -> [FinishedSpan] {
    state.withLock { state in
      let taken = Array(state.spans.prefix(count))
      state.spans.removeFirst(taken.count)
      return taken
    }
  }

  /// Counts spans that the collector has accepted, or that were lost because it did not.
  package func exported(_ count: Int, succeeded: Bool) {
    state.withLock { state in
      if succeeded { state.exported += count } else { state.failed += count }
    }
  }

  package func report(to registry: MetricsRegistry) {
    registry.collect(Catalogue.traceSpans) { [self] in
      let (exported, failed, dropped) = state.withLock { ($0.exported, $0.failed, $0.dropped) }
      return [("dropped", dropped), ("exported", exported), ("failed", failed)].map {
        (Labels([("result", $0.0)]), .count($0.1))
      }
    }
  }
}
