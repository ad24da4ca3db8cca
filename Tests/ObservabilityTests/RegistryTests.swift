import CoreMetrics
import Synchronization
import Testing

@testable import Observability

/// The samples of one metric, without comments.
private func samples(_ registry: MetricsRegistry, _ name: String) -> [String] {
  registry.exposition().split(separator: "\n").map(String.init).filter { $0.hasPrefix(name) }
}

@Test func `metrics that a library records with swift-metrics are served`() {
  let registry = MetricsRegistry()
  let counter = Counter(label: "lib.calls", dimensions: [("to", "a")], factory: registry)
  counter.increment()
  counter.increment(by: 41)
  let meter = Meter(label: "lib.level", factory: registry)
  meter.set(7)
  meter.increment(by: 0.5)
  meter.decrement(by: 2)
  Gauge(label: "lib.gauge", factory: registry).record(3)
  let timer = Timer(label: "lib.time", factory: registry)
  timer.recordMilliseconds(250)
  FloatingPointCounter(label: "lib.litres", factory: registry).increment(by: 2)
  #expect(samples(registry, "lib_calls") == ["lib_calls{to=\"a\"} 42"])
  #expect(samples(registry, "lib_level") == ["lib_level 5.5"])
  #expect(samples(registry, "lib_gauge") == ["lib_gauge 3"])
  #expect(samples(registry, "lib_litres") == ["lib_litres 2"])
  #expect(samples(registry, "lib_time_bucket{le=\"0.1\"}") == ["lib_time_bucket{le=\"0.1\"} 0"])
  #expect(samples(registry, "lib_time_bucket{le=\"0.25\"}") == ["lib_time_bucket{le=\"0.25\"} 1"])
  #expect(samples(registry, "lib_time_sum") == ["lib_time_sum 0.25"])
}

@Test func `a value at a bound is counted in its bucket, and a larger one in the next`() {
  let registry = MetricsRegistry()
  let recorder = Recorder(label: "sizes", factory: registry)
  for value in [0, 1, 1.000_001, 256, 256.5, -1, .nan] { recorder.record(value) }
  let buckets = samples(registry, "sizes_bucket").map { $0.split(separator: " ").last.map(String.init) ?? "" }
  #expect(buckets == ["3", "4", "4", "4", "4", "4", "4", "4", "5", "6"])
  #expect(samples(registry, "sizes_count") == ["sizes_count 6"])
}

@Test func `the same name and labels always return the same series`() {
  let registry = MetricsRegistry()
  for _ in 0..<3 { Counter(label: "a", dimensions: [("x", "1"), ("y", "2")], factory: registry).increment() }
  Counter(label: "a", dimensions: [("y", "2"), ("x", "1")], factory: registry).increment()
  #expect(samples(registry, "a{") == ["a{x=\"1\",y=\"2\"} 4"])
}

@Test func `a destroyed series is not served, and its place is free`() {
  let registry = MetricsRegistry(seriesMax: 1)
  let counter = Counter(label: "a", factory: registry)
  counter.increment()
  counter.destroy()
  #expect(samples(registry, "a").isEmpty)
  Counter(label: "b", factory: registry).increment()
  #expect(samples(registry, "b") == ["b 1"])
}

@Test func `a name that is reused for another kind does not affect the first metric`() {
  let registry = MetricsRegistry()
  Counter(label: "a", factory: registry).increment()
  Meter(label: "a", factory: registry).set(9)
  #expect(samples(registry, "a") == ["a 1"])
  #expect(samples(registry, "latchkey_metric_series_refused") == ["latchkey_metric_series_refused_total 1"])
}

@Test func `a library cannot write into a metric that the server reads elsewhere`() {
  let registry = MetricsRegistry()
  registry.collect(Catalogue.calls) { [(.none, .count(5))] }
  Counter(label: Catalogue.calls.name, factory: registry).increment()
  #expect(samples(registry, Catalogue.calls.name) == ["latchkey_calls_total 5"])
}

@Test func `a series past the limit is not served`() {
  let registry = MetricsRegistry(seriesMax: 100)
  for number in 0..<101 { Counter(label: "a", dimensions: [("n", "\(number)")], factory: registry).increment() }
  #expect(samples(registry, "a{").count == 100)
  #expect(samples(registry, "latchkey_metric_series_refused") == ["latchkey_metric_series_refused_total 1"])
  // Existing series continue to count.
  Counter(label: "a", dimensions: [("n", "0")], factory: registry).increment()
  #expect(samples(registry, "a{n=\"0\"}") == ["a{n=\"0\"} 2"])
}

@Test func `a counter never falls`() {
  let registry = MetricsRegistry()
  let counter = Counter(label: "a", factory: registry)
  counter.increment(by: 5)
  counter.increment(by: -3)
  #expect(samples(registry, "a") == ["a 5"])
}

@Test func `no count is lost when many threads count concurrently`() async {
  let registry = MetricsRegistry()
  let (tasks, rounds) = (8, 20_000)
  await withTaskGroup(of: Void.self) { group in
    for _ in 0..<tasks {
      group.addTask {
        let counter = Counter(label: "a", factory: registry)
        let meter = Meter(label: "b", factory: registry)
        let recorder = Recorder(label: "c", factory: registry)
        for _ in 0..<rounds {
          counter.increment()
          meter.increment(by: 0.5)
          recorder.record(2)
        }
      }
    }
  }
  let total = tasks * rounds
  #expect(samples(registry, "a") == ["a \(total)"])
  #expect(samples(registry, "b") == ["b \(total / 2)"])
  #expect(samples(registry, "c_sum") == ["c_sum \(total * 2)"])
  #expect(samples(registry, "c_count") == ["c_count \(total)"])
}

@Test func `reads during concurrent counting are consistent`() async {
  let registry = MetricsRegistry()
  let writing = Flag()
  await withTaskGroup(of: Void.self) { group in
    group.addTask {
      for number in 0..<2_000 {
        Recorder(label: "c", dimensions: [("n", "\(number % 50)")], factory: registry).record(1)
      }
      writing.isOver.store(true, ordering: .releasing)
    }
    while !writing.isOver.load(ordering: .acquiring) {
      for series in samples(registry, "c_count") {
        let labels = series.split(separator: " ")[0].dropFirst("c_count".count).dropLast()
        let infinite = samples(registry, "c_bucket\(labels),le=\"+Inf\"}")
        #expect(infinite.count == 1)
      }
      await Task.yield()
    }
  }
}

private final class Flag: Sendable {
  let isOver = Atomic<Bool>(false)
}
