internal import CoreMetrics
internal import Synchronization

/// A series that multiple threads can update.
protocol Series: AnyObject, Sendable {
  var reading: Reading { get }
}

final class CounterSeries: Series, CounterHandler {
  private let value = Atomic<Int64>(0)

  var reading: Reading { .number(Double(value.load(ordering: .relaxed))) }

  /// Increments the counter, which never decreases.
  func increment(by amount: Int64) {
    if amount > 0 { value.wrappingAdd(amount, ordering: .relaxed) }
  }

  func reset() { value.store(0, ordering: .relaxed) }
}

final class GaugeSeries: Series, MeterHandler, RecorderHandler {
  private let value = AtomicDouble()

  var reading: Reading { .number(value.load()) }

  func set(_ value: Int64) { self.value.store(Double(value)) }
  func set(_ value: Double) { self.value.store(value) }
  func increment(by amount: Double) { value.add(amount) }
  func decrement(by amount: Double) { value.add(-amount) }
  func record(_ value: Int64) { set(value) }
  func record(_ value: Double) { set(value) }
}

final class HistogramSeries: Series, RecorderHandler, TimerHandler {
  private final class Bucket: Sendable {
    let count = Atomic<Int>(0)
  }

  private let bounds: [Double]
  private let buckets: [Bucket]
  private let sum = AtomicDouble()

  /// - Parameter bounds: upper bounds in ascending order.
  init(bounds: [Double]) {
    self.bounds = bounds
    buckets = (0...bounds.count).map { _ in Bucket() }
  }

  var reading: Reading {
    let counts = buckets.map { $0.count.load(ordering: .relaxed) }
    return .histogram(HistogramReading(bounds: bounds, counts: counts, sum: sum.load()))
  }

  func record(_ value: Int64) { record(Double(value)) }

  /// Records a value. A value equal to a bound belongs to that bucket: `le` means "less or equal".
  func record(_ value: Double) {
    guard !value.isNaN else { return }
    let index = bounds.firstIndex { value <= $0 } ?? bounds.count
    buckets[index].count.wrappingAdd(1, ordering: .relaxed)
    sum.add(value)
  }

  func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
}

/// A floating-point number with atomic addition.
private struct AtomicDouble: ~Copyable {
  private let bits = Atomic<UInt64>(0)

  func load() -> Double { Double(bitPattern: bits.load(ordering: .relaxed)) }
  func store(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

  func add(_ amount: Double) {
    var old = bits.load(ordering: .relaxed)
    while true {
      let new = (Double(bitPattern: old) + amount).bitPattern
      let (exchanged, current) = bits.weakCompareExchange(expected: old, desired: new, ordering: .relaxed)
      if exchanged { return }
      old = current
    }
  }
}

/// Bounds of histograms, in base units.
enum Bounds {
  static let seconds = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
  ]
  /// Bounds for group sizes.
  static let counts: [Double] = [1, 2, 4, 8, 16, 32, 64, 128, 256]
}
