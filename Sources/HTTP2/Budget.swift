/// How much nuisance one connection may make before it is told to calm down. A value: it is told the time.
package struct Budget {
  /// Each kind is a metric label and the debug data of the GOAWAY that ends a connection over it.
  package enum Kind: String, Sendable, CaseIterable {
    /// The client resets a call that we had not answered (CVE-2023-44487).
    case unfinishedReset = "too_many_resets"
    /// The client makes us reset a stream (CVE-2025-8671).
    case provokedReset = "too_many_stream_errors"
    /// CVE-2019-9515.
    case settings = "too_many_settings"
    /// CVE-2019-9513; priorities themselves are ignored.
    case priority = "too_many_priorities"
    /// CVE-2019-9518.
    case emptyData = "too_many_empty_frames"
  }

  /// At most `count` within `windowMillis`.
  package struct Rate: Sendable {
    package var count: Int
    package var windowMillis: Int64

    package init(count: Int, windowMillis: Int64) {
      self.count = count
      self.windowMillis = windowMillis
    }
  }

  package struct Limits: Sendable {
    package var unfinishedResets = Rate(count: 100, windowMillis: 10_000)
    package var provokedResets = Rate(count: 50, windowMillis: 60_000)
    /// The first SETTINGS of a connection counts too.
    package var settings = Rate(count: 11, windowMillis: 60_000)
    package var priorities = Rate(count: 100, windowMillis: .max)
    /// Any beyond `emptyDataPerStreamMax` on one stream is one too many.
    package var emptyData = Rate(count: 0, windowMillis: .max)
    package var emptyDataPerStreamMax = 10

    package init() {}

    func rate(_ kind: Kind) -> Rate {
      switch kind {
      case .unfinishedReset: unfinishedResets
      case .provokedReset: provokedResets
      case .settings: settings
      case .priority: priorities
      case .emptyData: emptyData
      }
    }
  }

  private struct Window {
    var startMillis: Int64 = 0
    var spent = 0
  }

  private let limits: Limits
  private var windows: [Kind: Window] = [:]

  package init(_ limits: Limits) { self.limits = limits }

  /// False: that was one too many.
  package mutating func spend(_ kind: Kind, nowMillis: Int64) -> Bool {
    let rate = limits.rate(kind)
    var window = windows[kind] ?? Window(startMillis: nowMillis)
    if nowMillis - window.startMillis >= rate.windowMillis { window = Window(startMillis: nowMillis) }
    window.spent += 1
    windows[kind] = window
    return window.spent <= rate.count
  }
}
