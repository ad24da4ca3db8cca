package import CoreMetrics
internal import Synchronization

/// Registry of all metrics of the process, and the backend of swift-metrics.
///
/// A handler is an atomic number that its user holds. The lock is held to create a handler and to read all of them.
/// `CallMetrics` counts events that are too frequent for atomics; `collect` reads them.
package final class MetricsRegistry: MetricsFactory {
  private struct State {
    var families: [String: MetricFamily] = [:]
    var series: [String: [Labels: any Series]] = [:]
    var seriesCount = 0
    var refusedCount = 0
    var collectors: [String: @Sendable () -> [(labels: Labels, reading: Reading)]] = [:]
    var bounds: [String: [Double]] = [:]
  }

  private let state = Mutex(State())
  private let seriesMax: Int

  /// - Parameter seriesMax: maximum number of series from swift-metrics, including those of libraries.
  package init(seriesMax: Int = 4_096) {
    self.seriesMax = seriesMax
    collect(Catalogue.seriesRefused) { [unowned self] in
      [(.none, .count(state.withLock { $0.refusedCount }))]
    }
  }

  /// Describes a metric before its first series is created; `bounds` sets the buckets of a histogram.
  func describe(_ family: MetricFamily, bounds: [Double]? = nil) {
    state.withLock { state in
      state.families[family.name] = family
      state.bounds[family.name] = bounds
      if state.series[family.name] == nil { state.series[family.name] = [:] }
    }
  }

  /// Adds a metric whose series are computed when they are read. `read` must not block.
  package func collect(_ family: MetricFamily, _ read: @escaping @Sendable () -> [(labels: Labels, reading: Reading)]) {
    state.withLock { state in
      state.families[family.name] = family
      state.collectors[family.name] = read
    }
  }

  /// Returns the complete text, with families and series sorted by name.
  package func exposition() -> String {
    let (families, series, collectors) = state.withLock { ($0.families, $0.series, $0.collectors) }
    var exposition = Exposition()
    for family in families.values.sorted(by: { $0.name < $1.name }) {
      if let read = collectors[family.name] {
        exposition.append(family, read())
      } else if let series = series[family.name] {
        exposition.append(
          family, series.sorted { $0.key.text < $1.key.text }.map { (labels: $0.key, reading: $0.value.reading) })
      }
    }
    return exposition.text
  }

  // MARK: swift-metrics

  package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    make(label, .counter, dimensions) { _ in CounterSeries() }
  }

  package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    make(label, .gauge, dimensions) { _ in GaugeSeries() }
  }

  package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    guard aggregate else { return make(label, .gauge, dimensions) { _ in GaugeSeries() } }
    return make(label, .histogram, dimensions) { HistogramSeries(bounds: $0 ?? Bounds.counts) }
  }

  /// Creates a timer in seconds.
  package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    make(label, .histogram, dimensions) { HistogramSeries(bounds: $0 ?? Bounds.seconds) }
  }

  package func destroyCounter(_ handler: any CounterHandler) { forget(handler) }
  package func destroyMeter(_ handler: any MeterHandler) { forget(handler) }
  package func destroyRecorder(_ handler: any RecorderHandler) { forget(handler) }
  package func destroyTimer(_ handler: any TimerHandler) { forget(handler) }

  /// Returns the series with these labels. Does not export a series of a different kind under the same name, or past
  /// the limit. A library's mistake must neither end the server nor fill its memory.
  private func make<S: Series>(
    _ label: String, _ kind: MetricFamily.Kind, _ dimensions: [(String, String)], _ new: ([Double]?) -> S
  ) -> S {
    let name = Exposition.metricName(label)
    let labels = Labels(dimensions)
    return state.withLock { state in
      if let made = state.series[name]?[labels] as? S { return made }
      let family = state.families[name] ?? MetricFamily(name, kind)
      let series = new(state.bounds[name])
      guard family.kind == kind, state.collectors[name] == nil, state.seriesCount < seriesMax else {
        state.refusedCount += 1
        return series
      }
      state.families[name] = family
      state.series[name, default: [:]][labels] = series
      state.seriesCount += 1
      return series
    }
  }

  private func forget(_ handler: AnyObject) {
    state.withLock { state in
      for (name, family) in state.series {
        guard let found = family.first(where: { $0.value === handler }) else { continue }
        state.series[name]?[found.key] = nil
        state.seriesCount -= 1
      }
    }
  }
}
