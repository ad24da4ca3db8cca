package import Callers
package import GRPC
package import Reactor
package import Services

/// Metrics of the call path: one tally per reactor, which only that reactor writes. A scrape sums the tallies.
///
/// A swift-metrics handle would add a dynamic dispatch and an atomic instruction on a shared cache line to every call.
package final class CallMetrics: Sendable {
  /// Tallies, one per reactor.
  let tallies: [Tally]
  private let layout: CallLayout
  /// `package.Service/Method`, by index in the method table. The last entry is for unknown paths.
  private let methods: [String]
  private let callers: CallerLabels

  package init(_ methods: [Method], reactors: Int, callers: CallerLabels = CallerLabels()) {
    self.callers = callers
    self.methods = methods.map { String($0.path.dropFirst()) } + ["unknown"]
    let layout = CallLayout(methods: methods.count)
    self.layout = layout
    tallies = (0..<reactors).map { _ in Tally(count: layout.count) }
  }

  package func meter(ofReactor index: Int) -> CallMeter { CallMeter(tallies[index], layout) }

  package func report(to registry: MetricsRegistry) {
    registry.collect(Catalogue.calls) { [self] in
      methods.indices.flatMap { method in
        StatusName.all.indices.compactMap { code in
          let count = sum(layout.ended(method, code: code))
          // Each method has at least one series, so that a rate has a start value.
          guard count > 0 || code == 0 else { return nil }
          return (Labels([("method", methods[method]), ("code", StatusName.all[code])]), .count(count))
        }
      }
    }
    registry.collect(Catalogue.callSeconds) { [self] in
      methods.indices.dropLast().map { method in
        (Labels([("method", methods[method])]), .histogram(latency(method)))
      }
    }
    registry.collect(Catalogue.callsInFlight) { [self] in
      methods.indices.dropLast().map { method in
        // Reads the ended calls first, so that the gauge is never negative.
        let ended = StatusName.all.indices.reduce(0) { $0 + sum(layout.ended(method, code: $1)) }
        return (Labels([("method", methods[method])]), .count(sum(layout.begun(method)) - ended))
      }
    }
    registry.collect(Catalogue.callerCalls) { [self] in
      callers.all.enumerated().flatMap { number, name in
        [("ok", true), ("failed", false)].map { result, succeeded in
          (
            Labels([("caller", name), ("result", result)]),
            .count(sum(layout.ofCaller(number, succeeded: succeeded)))
          )
        }
      }
    }
    registry.collect(Catalogue.streams) { [self] in [(.none, .count(max(0, sum(layout.streams))))] }
  }

  private func latency(_ method: Int) -> HistogramReading {
    HistogramReading(
      bounds: Bounds.seconds, counts: (0..<CallLayout.bucketCount).map { sum(layout.bucket(method, $0)) },
      sum: Double(sum(layout.nanos(method))) / 1e9)
  }

  private func sum(_ cell: Int) -> Int { tallies.reduce(0) { $0 + $1.read(cell) } }
}

/// The writer of one reactor's tally, on its thread.
package final class CallMeter {
  private let tally: Tally
  private let layout: CallLayout
  private let boundsNanos = Bounds.seconds.map { Int64(($0 * 1e9).rounded()) }
  /// Calls answered in this turn. Their time ends with the turn, so one clock reading serves all of them.
  private var answered: [(method: Int, begunNanos: Int64)] = []

  package init(_ tally: Tally, _ layout: CallLayout) {
    self.tally = tally
    self.layout = layout
  }

  package func began(_ method: Int) { tally.add(1, at: layout.begun(method)) }

  /// Counts the end of a call. `begunNanos` is `nil` for a streaming call, whose duration is not meaningful.
  package func ended(_ method: Int, _ code: GRPC.Status.Code, caller: Int, begunNanos: Int64?) {
    tally.add(1, at: layout.ended(method, code: code.rawValue))
    tally.add(1, at: layout.ofCaller(caller, succeeded: code == .ok))
    if let begunNanos { answered.append((method, begunNanos)) }
  }

  /// Counts a call that ended after its headers; a method of `nil` stands for an unknown path.
  package func refused(_ method: Int?, _ code: GRPC.Status.Code, caller: Int? = nil) {
    if let caller { tally.add(1, at: layout.ofCaller(caller, succeeded: false)) }
    let method = method ?? layout.methods
    tally.add(1, at: layout.begun(method))
    tally.add(1, at: layout.ended(method, code: code.rawValue))
  }

  package func streams(_ change: Int) { tally.add(change, at: layout.streams) }

  /// Records the durations of the answered calls after their responses are written.
  package func endTurn() {
    guard !answered.isEmpty else { return }
    let now = monotonicNanos()
    for (method, begunNanos) in answered { count(method, nanos: now - begunNanos) }
    answered.removeAll(keepingCapacity: true)
  }

  /// Records a duration. Most calls are in the first buckets, so a linear search is fast.
  package func count(_ method: Int, nanos: Int64) {
    var bucket = 0
    while bucket < boundsNanos.count, nanos > boundsNanos[bucket] { bucket += 1 }
    tally.add(1, at: layout.bucket(method, bucket))
    tally.add(Int(nanos), at: layout.nanos(method))
  }
}

/// Positions of the counters in a tally.
package struct CallLayout: Sendable {
  /// A literal, since an expression would be evaluated on every call.
  static let codeCount = 17
  static let bucketCount = 17
  private static let endedAt = 1
  private static let bucketsAt = endedAt + codeCount
  private static let nanosAt = bucketsAt + bucketCount
  private static let cellsPerMethod = nanosAt + 1

  /// Number of served methods; one more entry counts all other paths.
  let methods: Int

  var count: Int { streams + 1 + 2 * CallerLabels.count }
  var streams: Int { (methods + 1) * CallLayout.cellsPerMethod }

  func ofCaller(_ number: Int, succeeded: Bool) -> Int { streams + 1 + 2 * number + (succeeded ? 0 : 1) }

  func begun(_ method: Int) -> Int { method * CallLayout.cellsPerMethod }

  func ended(_ method: Int, code: Int) -> Int { begun(method) + CallLayout.endedAt + code }

  func bucket(_ method: Int, _ bucket: Int) -> Int { begun(method) + CallLayout.bucketsAt + bucket }

  func nanos(_ method: Int) -> Int { begun(method) + CallLayout.nanosAt }
}

/// The names of the gRPC status codes (doc/statuscodes.md), by code.
package enum StatusName {
  package static let all = [
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
    "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
  ]
}
