/// Abuse counters of one connection. The connection ends with ENHANCE_YOUR_CALM when a counter exceeds its limit. The
/// budget has no clock: the caller passes the time.
package struct Budget {
  /// A kind of abuse. The raw value is the metric label and the debug data of the GOAWAY that ends the connection.
  package enum Kind: String, Sendable, CaseIterable {
    /// The client resets a call that the server has not answered (CVE-2023-44487).
    case unfinishedReset = "too_many_resets"
    /// The client makes the server reset a stream (CVE-2025-8671).
    case provokedReset = "too_many_stream_errors"
    /// Streams above the limit, opened before the client acknowledged the limit.
    case prematureStream = "too_many_premature_streams"
    /// SETTINGS frames (CVE-2019-9515).
    case settings = "too_many_settings"
    /// PRIORITY frames (CVE-2019-9513). The server ignores the priorities themselves.
    case priority = "too_many_priorities"
    /// Empty DATA frames (CVE-2019-9518).
    case emptyData = "too_many_empty_frames"
    /// Frames that carry no request data (CVE-2019-9511, CVE-2019-9512), including ignored frames.
    case controlFrame = "too_many_control_frames"
    /// A header block in more CONTINUATION frames than any client needs (CVE-2024-28182).
    case continuation = "too_many_continuations"
    /// Header lists above the limit. The server answers each with a status.
    case largeHeaderList = "too_many_large_header_lists"
    /// A header list so far above the limit that it cannot be a mistake.
    case headerBomb = "header_list_bomb"
    /// Responses that the client requests and does not read (CVE-2019-9517).
    case untaken = "too_many_untaken_answers"
  }

  /// A limit of `count` events within `windowMillis`.
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
    /// Percentage of calls that an identified caller may cancel above that count. Covers the current and the previous
    /// window.
    package var unfinishedResetsPercent = 50
    package var provokedResets = Rate(count: 50, windowMillis: 60_000)
    package var prematureStreams = Rate(count: 500, windowMillis: 60_000)
    /// Includes the first SETTINGS of a connection.
    package var settings = Rate(count: 11, windowMillis: 60_000)
    package var priorities = Rate(count: 100, windowMillis: .max)
    /// The connection may not exceed `emptyDataPerStreamMax` on any stream.
    package var emptyData = Rate(count: 0, windowMillis: .max)
    package var emptyDataPerStreamMax = 10
    /// In addition to the frames that calls and DATA frames allow.
    package var controlFrames = Rate(count: 1_000, windowMillis: 10_000)
    /// Control frames that each request, and each DATA frame from the server, allows: the end of the stream and window
    /// updates.
    package var controlFramesPerCall = 4
    package var controlFramesPerDataFrame = 10
    /// The connection may not exceed `continuationsPerBlockMax` in any block.
    package var continuations = Rate(count: 0, windowMillis: .max)
    package var continuationsPerBlockMax = 8
    package var largeHeaderLists = Rate(count: 50, windowMillis: 60_000)
    /// The connection may not exceed `headerListBytesCeiling` (counted as in RFC 9113 6.5.2) or `headerFieldsCeiling`
    /// in any header list.
    package var headerBombs = Rate(count: 0, windowMillis: .max)
    package var headerListBytesCeiling = 262_144
    package var headerFieldsCeiling = 1_024
    package var untaken = Rate(count: 2, windowMillis: .max)

    package init() {}

    func rate(_ kind: Kind) -> Rate {
      switch kind {
      case .unfinishedReset: unfinishedResets
      case .provokedReset: provokedResets
      case .prematureStream: prematureStreams
      case .settings: settings
      case .priority: priorities
      case .emptyData: emptyData
      case .controlFrame: controlFrames
      case .continuation: continuations
      case .largeHeaderList: largeHeaderLists
      case .headerBomb: headerBombs
      case .untaken: untaken
      }
    }
  }

  private struct Window {
    var startMillis: Int64 = 0
    var spent = 0
  }

  /// Calls and unfinished resets of the current window and the previous one. The previous window shows the volume of
  /// the connection while a new window is still short.
  private struct ResetShare {
    var calls = 0
    var resets = 0
    private var startMillis: Int64 = 0
    private var earlierCalls = 0
    private var earlierResets = 0

    mutating func roll(_ windowMillis: Int64, _ nowMillis: Int64) {
      let elapsed = nowMillis - startMillis
      guard elapsed >= windowMillis else { return }
      let isAdjacent = elapsed - windowMillis < windowMillis
      (earlierCalls, earlierResets) = isAdjacent ? (calls, resets) : (0, 0)
      (calls, resets, startMillis) = (0, 0, nowMillis)
    }

    func isWithin(percent: Int) -> Bool { (earlierResets + resets) * 100 <= percent * (earlierCalls + calls) }
  }

  private var windows: [Kind: Window] = [:]
  /// Separate from `windows` because every call adds to the allowance.
  private var controlFrames = Window()
  private var share = ResetShare()

  package init() {}

  /// Counts one event of a kind. Returns whether the connection stays within the limits.
  ///
  /// The limits are a parameter because each connection has a budget, and limits are large.
  /// - Parameter isIdentified: Whether a caller has been identified on the connection.
  package mutating func spend(_ kind: Kind, of limits: Limits, nowMillis: Int64, isIdentified: Bool = false) -> Bool {
    if kind == .controlFrame { return Budget.spend(&controlFrames, limits.controlFrames, nowMillis) }
    let isWithinRate = Budget.spend(
      &windows[kind, default: Window(startMillis: nowMillis)], limits.rate(kind), nowMillis)
    guard kind == .unfinishedReset else { return isWithinRate }
    share.roll(limits.unfinishedResets.windowMillis, nowMillis)
    share.resets += 1
    return isWithinRate || (isIdentified && share.isWithin(percent: limits.unfinishedResetsPercent))
  }

  /// Counts a call that began, answered or not.
  package mutating func beganCall(of limits: Limits, nowMillis: Int64) {
    share.roll(limits.unfinishedResets.windowMillis, nowMillis)
    share.calls += 1
  }

  /// Adds to the number of allowed control frames.
  package mutating func earnControlFrames(_ count: Int) { controlFrames.spent = max(0, controlFrames.spent - count) }

  private static func spend(_ window: inout Window, _ rate: Rate, _ nowMillis: Int64) -> Bool {
    if window.spent == 0 || nowMillis - window.startMillis >= rate.windowMillis {
      window = Window(startMillis: nowMillis)
    }
    window.spent += 1
    return window.spent <= rate.count
  }
}
