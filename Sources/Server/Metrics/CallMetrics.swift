internal import GRPC
internal import Reactor
internal import Services

/// What the road of a call counts: for each reactor a tally that it alone writes, summed up when somebody asks.
///
/// A swift-metrics handle would cost every call a dynamic dispatch and a locked instruction on a cache line that all
/// reactors share.
final class CallMetrics: Sendable {
  /// One for each reactor.
  let tallies: [Tally]
  private let layout: CallLayout
  /// `package.Service/Method`, by number in the method table; the last is for paths that are not served.
  private let methods: [String]

  init(_ methods: [Method], reactors: Int) {
    self.methods = methods.map { String($0.path.dropFirst()) } + ["unknown"]
    let layout = CallLayout(methods: methods.count)
    self.layout = layout
    tallies = (0..<reactors).map { _ in Tally(count: layout.count) }
  }

  func meter(ofReactor index: Int) -> CallMeter { CallMeter(tallies[index], layout) }

  func report(to registry: MetricsRegistry) {
    registry.collect(Catalogue.calls) { [self] in
      methods.indices.flatMap { method in
        StatusName.all.indices.compactMap { code in
          let count = sum(layout.ended(method, code: code))
          // Of each method one series at least, so that a rate has a beginning.
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
        // The ends are read first: what ends meanwhile counts as in flight, and the gauge is never negative.
        let ended = StatusName.all.indices.reduce(0) { $0 + sum(layout.ended(method, code: $1)) }
        return (Labels([("method", methods[method])]), .count(sum(layout.begun(method)) - ended))
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

/// The hand of one reactor, on its thread.
final class CallMeter {
  private let tally: Tally
  private let layout: CallLayout
  private let boundsNanos = Bounds.seconds.map { Int64(($0 * 1e9).rounded()) }
  /// Calls answered in this turn, whose time ends with it: one look at the clock serves them all.
  private var answered: [(method: Int, begunNanos: Int64)] = []

  init(_ tally: Tally, _ layout: CallLayout) {
    self.tally = tally
    self.layout = layout
  }

  func began(_ method: Int) { tally.add(1, at: layout.begun(method)) }

  /// `begunNanos`: nil where the time says nothing, as of a streaming call.
  func ended(_ method: Int, _ code: Status.Code, begunNanos: Int64?) {
    tally.add(1, at: layout.ended(method, code: code.rawValue))
    if let begunNanos { answered.append((method, begunNanos)) }
  }

  /// A call that ended with its head; nil: the path is not served.
  func refused(_ method: Int?, _ code: Status.Code) {
    let method = method ?? layout.methods
    tally.add(1, at: layout.begun(method))
    tally.add(1, at: layout.ended(method, code: code.rawValue))
  }

  func streams(_ change: Int) { tally.add(change, at: layout.streams) }

  /// The answers of this turn have been written.
  func endTurn() {
    guard !answered.isEmpty else { return }
    let now = monotonicNanos()
    for (method, begunNanos) in answered { count(method, nanos: now - begunNanos) }
    answered.removeAll(keepingCapacity: true)
  }

  /// Nearly every call is in the first buckets: they are tried in their order.
  func count(_ method: Int, nanos: Int64) {
    var bucket = 0
    while bucket < boundsNanos.count, nanos > boundsNanos[bucket] { bucket += 1 }
    tally.add(1, at: layout.bucket(method, bucket))
    tally.add(Int(nanos), at: layout.nanos(method))
  }
}

/// Where in a tally each number is.
struct CallLayout: Sendable {
  /// Numbers, not expressions, because those would be looked up at every call.
  static let codeCount = 17
  static let bucketCount = 17
  private static let endedAt = 1
  private static let bucketsAt = endedAt + codeCount
  private static let nanosAt = bucketsAt + bucketCount
  private static let cellsPerMethod = nanosAt + 1

  /// Those that are served; one more stands for all other paths.
  let methods: Int

  var count: Int { streams + 1 }
  var streams: Int { (methods + 1) * CallLayout.cellsPerMethod }

  func begun(_ method: Int) -> Int { method * CallLayout.cellsPerMethod }

  func ended(_ method: Int, code: Int) -> Int { begun(method) + CallLayout.endedAt + code }

  func bucket(_ method: Int, _ bucket: Int) -> Int { begun(method) + CallLayout.bucketsAt + bucket }

  func nanos(_ method: Int) -> Int { begun(method) + CallLayout.nanosAt }
}

/// The names of the gRPC status codes (doc/statuscodes.md), by code.
enum StatusName {
  static let all = [
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
    "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
  ]
}
