internal import Histogram

/// A histogram of latencies from 0.1 µs to 100 s, with three significant digits.
struct Latencies {
  static let nanosMax: Int64 = 100_000_000_000

  private var histogram = Histogram<UInt32>(
    lowestDiscernibleValue: 100, highestTrackableValue: UInt64(nanosMax), numberOfSignificantValueDigits: .three)

  var count: UInt64 { histogram.totalCount }

  /// Records a latency. Clamps it to the range of the histogram.
  mutating func record(nanos: Int64) { histogram.record(UInt64(min(max(0, nanos), Latencies.nanosMax))) }

  mutating func reset() { histogram.reset() }

  /// Returns a percentile in microseconds, or 0 if the histogram is empty.
  func micros(percentile: Double) -> Double {
    count == 0 ? 0 : Latencies.micros(histogram.valueAtPercentile(percentile))
  }

  var summary: LatencySummary {
    guard count > 0 else { return LatencySummary() }
    return LatencySummary(
      min: Latencies.micros(histogram.min), mean: Latencies.rounded(histogram.mean / 1_000),
      p50: micros(percentile: 50), p90: micros(percentile: 90), p99: micros(percentile: 99),
      p999: micros(percentile: 99.9), p9999: micros(percentile: 99.99), max: Latencies.micros(histogram.max))
  }

  /// Points of the percentile curve for the plot. The last point is the longest latency, which for 1,000 samples is at
  /// 99.9 %.
  var curve: [(percentile: Double, micros: Double)] {
    guard count > 0 else { return [] }
    let last = 100 * (1 - 1 / Double(count))
    var points: [(percentile: Double, micros: Double)] = []
    for value in histogram.percentiles(ticksPerHalfDistance: 8) {
      points.append((min(value.percentile, last), Latencies.micros(value.value)))
    }
    return points
  }

  private static func micros(_ nanos: UInt64) -> Double { rounded(Double(nanos) / 1_000) }

  /// Rounds to a tenth, the resolution of the histogram.
  private static func rounded(_ micros: Double) -> Double { (micros * 10).rounded() / 10 }
}

/// Percentiles in microseconds.
struct LatencySummary: Codable, Equatable {
  var min = 0.0
  var mean = 0.0
  var p50 = 0.0
  var p90 = 0.0
  var p99 = 0.0
  var p999 = 0.0
  var p9999 = 0.0
  var max = 0.0
}
