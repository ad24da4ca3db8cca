/// How much nuisance one connection may make before it is told to calm down. A value: it is told the time.
package struct Budget {
  /// Each kind is a metric label and the debug data of the GOAWAY that ends a connection over it.
  package enum Kind: String, Sendable, CaseIterable {
    /// The client resets a call that we had not answered (CVE-2023-44487).
    case unfinishedReset = "too_many_resets"
    /// The client makes us reset a stream (CVE-2025-8671).
    case provokedReset = "too_many_stream_errors"
    /// Streams past the limit of a client that has not acknowledged it.
    case prematureStream = "too_many_premature_streams"
    /// CVE-2019-9515.
    case settings = "too_many_settings"
    /// CVE-2019-9513; priorities themselves are ignored.
    case priority = "too_many_priorities"
    /// CVE-2019-9518.
    case emptyData = "too_many_empty_frames"
    /// Frames that carry neither a request nor a part of one (CVE-2019-9511, 9512), ignored ones included.
    case controlFrame = "too_many_control_frames"
    /// A header block in more parts than anyone needs (CVE-2024-28182).
    case continuation = "too_many_continuations"
    /// Header lists past the limit, each answered with a status.
    case largeHeaderList = "too_many_large_header_lists"
    /// A header list so far past the limit that no mistake explains it.
    case headerBomb = "header_list_bomb"
    /// Answers that the client asks for and leaves untaken (CVE-2019-9517).
    case untaken = "too_many_untaken_answers"
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
    /// Beyond that count, identified callers may cancel up to this share of the calls of this window and the last one.
    package var unfinishedResetsPercent = 50
    package var provokedResets = Rate(count: 50, windowMillis: 60_000)
    package var prematureStreams = Rate(count: 500, windowMillis: 60_000)
    /// The first SETTINGS of a connection counts too.
    package var settings = Rate(count: 11, windowMillis: 60_000)
    package var priorities = Rate(count: 100, windowMillis: .max)
    /// Any beyond `emptyDataPerStreamMax` on one stream is one too many.
    package var emptyData = Rate(count: 0, windowMillis: .max)
    package var emptyDataPerStreamMax = 10
    /// Beside those that calls and answers earn.
    package var controlFrames = Rate(count: 1_000, windowMillis: 10_000)
    /// Each request, and each DATA frame that we send, lets a client say so many more: its end, window given back.
    package var controlFramesPerCall = 4
    package var controlFramesPerDataFrame = 10
    /// Any beyond `continuationsPerBlockMax` in one block is one too many.
    package var continuations = Rate(count: 0, windowMillis: .max)
    package var continuationsPerBlockMax = 8
    package var largeHeaderLists = Rate(count: 50, windowMillis: 60_000)
    /// Any header list beyond `headerListBytesCeiling`, as RFC 9113 6.5.2 counts, or with more fields than
    /// `headerFieldsCeiling` is one too many.
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

  /// Calls and unfinished resets of the current window and the one before it, so that a window that has just begun
  /// knows the volume of the connection.
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
  /// Apart from the others: every call earns some.
  private var controlFrames = Window()
  private var share = ResetShare()

  package init() {}

  /// False: that was one too many. The limits are lent, because each connection has a budget and they are not small.
  /// - Parameter isIdentified: a caller has been identified on the connection.
  package mutating func spend(_ kind: Kind, of limits: Limits, nowMillis: Int64, isIdentified: Bool = false) -> Bool {
    if kind == .controlFrame { return Budget.spend(&controlFrames, limits.controlFrames, nowMillis) }
    let isWithinRate = Budget.spend(
      &windows[kind, default: Window(startMillis: nowMillis)], limits.rate(kind), nowMillis)
    guard kind == .unfinishedReset else { return isWithinRate }
    share.roll(limits.unfinishedResets.windowMillis, nowMillis)
    share.resets += 1
    return isWithinRate || (isIdentified && share.isWithin(percent: limits.unfinishedResetsPercent))
  }

  /// A call began, answered or not.
  package mutating func beganCall(of limits: Limits, nowMillis: Int64) {
    share.roll(limits.unfinishedResets.windowMillis, nowMillis)
    share.calls += 1
  }

  /// So many control frames had their reason.
  package mutating func earnControlFrames(_ count: Int) { controlFrames.spent = max(0, controlFrames.spent - count) }

  private static func spend(_ window: inout Window, _ rate: Rate, _ nowMillis: Int64) -> Bool {
    if window.spent == 0 || nowMillis - window.startMillis >= rate.windowMillis {
      window = Window(startMillis: nowMillis)
    }
    window.spent += 1
    return window.spent <= rate.count
  }
}
