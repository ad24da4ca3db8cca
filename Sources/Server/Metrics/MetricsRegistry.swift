package import CoreMetrics
internal import Synchronization

/// Every metric of the process: what the server counts, and what libraries record through swift-metrics, whose back end
/// it is.
///
/// A handler is an atomic number that its user holds; the lock is taken when one is made and when all are read. What is
/// counted too often even for that (CallMetrics) stays where it is counted, and is read by `collect`.
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

  package init(_ limits: Limits = Limits()) {
    seriesMax = limits.metricSeriesMax
    collect(Catalogue.seriesRefused) { [unowned self] in
      [(.none, .count(state.withLock { $0.refusedCount }))]
    }
  }

  /// Says what a metric means before its first series is made; `bounds` are of a histogram that has its own.
  func describe(_ family: MetricFamily, bounds: [Double]? = nil) {
    state.withLock { state in
      state.families[family.name] = family
      state.bounds[family.name] = bounds
      if state.series[family.name] == nil { state.series[family.name] = [:] }
    }
  }

  /// A metric whose series are asked for when they are read. The answer must not wait.
  func collect(_ family: MetricFamily, _ read: @escaping @Sendable () -> [(labels: Labels, reading: Reading)]) {
    state.withLock { state in
      state.families[family.name] = family
      state.collectors[family.name] = read
    }
  }

  /// The whole text, families and series in the order of their names.
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

  /// In seconds.
  package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    make(label, .histogram, dimensions) { HistogramSeries(bounds: $0 ?? Bounds.seconds) }
  }

  package func destroyCounter(_ handler: any CounterHandler) { forget(handler) }
  package func destroyMeter(_ handler: any MeterHandler) { forget(handler) }
  package func destroyRecorder(_ handler: any RecorderHandler) { forget(handler) }
  package func destroyTimer(_ handler: any TimerHandler) { forget(handler) }

  /// The series of these labels. One that cannot be served (a second kind under the same name, or one series too many)
  /// counts for itself and is in no text: a library's mistake must not end the server, nor fill its memory.
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
