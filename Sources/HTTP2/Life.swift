/// The life of one connection, without timers: it is told what happened and when, and says what to do (gRFC A8, A9).
package struct Life {
  package struct Limits: Sendable {
    /// A client may ping this often with calls open, and without.
    package var pingIntervalWithCallsMillis: Int64 = 60_000
    package var pingIntervalIdleMillis: Int64 = 300_000
    package var pingStrikesMax = 2
    package var idleMillis: Int64 = 900_000
    package var ageMillis: Int64 = 3_600_000
    package var keepaliveMillis: Int64 = 300_000
    package var keepaliveTimeoutMillis: Int64 = 20_000
    /// How long calls in flight may take once the connection is told to go.
    package var graceMillis: Int64 = 25_000
    /// How long the PING between the two GOAWAYs is waited for.
    package var noticeMillis: Int64 = 1_000

    package init() {}
  }

  /// Why a connection is told to go: the debug data of its last GOAWAY.
  package enum Ending: String, Sendable, CaseIterable {
    case drain = "draining"
    case idle = "max_idle"
    case age = "max_age"
    /// Its stream ids come to an end.
    case streamIDs = "max_streams"
  }

  package enum Step: Hashable, Sendable {
    case nothing
    case ping
    /// First GOAWAY and PING.
    case announceShutdown
    /// Second GOAWAY.
    case shutDown(Ending)
    /// Without a word: nobody is there to hear it.
    case close
    case terminate(Fault)
  }

  private enum Phase { case open, announced, goingAway }

  private let limits: Limits
  private var phase = Phase.open
  private var ending = Ending.drain
  /// When the current phase ends by itself.
  private var phaseEndsMillis: Int64
  private var idleSinceMillis: Int64
  private var lastReadMillis: Int64
  private var pingSentMillis: Int64?
  private var lastPingMillis: Int64?
  private var strikes = 0

  /// `jitter` in -1...1 spreads the ages of connections that were opened together by ten percent.
  package init(_ limits: Limits, nowMillis: Int64, jitter: Double) {
    self.limits = limits
    phaseEndsMillis = nowMillis + limits.ageMillis + Int64(Double(limits.ageMillis) * 0.1 * jitter)
    idleSinceMillis = nowMillis
    lastReadMillis = nowMillis
  }

  package var isOpen: Bool { phase == .open }

  package mutating func read(nowMillis: Int64) {
    lastReadMillis = nowMillis
    pingSentMillis = nil
  }

  /// A call began or ended, or an answer went out.
  package mutating func used(nowMillis: Int64) {
    idleSinceMillis = nowMillis
    // Pings between answers are honest keepalive.
    strikes = 0
    lastPingMillis = nil
  }

  package mutating func pinged(nowMillis: Int64, callsOpen: Bool) -> Step {
    let interval = callsOpen ? limits.pingIntervalWithCallsMillis : limits.pingIntervalIdleMillis
    defer { lastPingMillis = nowMillis }
    guard let last = lastPingMillis, nowMillis - last < interval else { return .nothing }
    strikes += 1
    guard strikes > limits.pingStrikesMax else { return .nothing }
    return .terminate(Fault(code: .enhanceYourCalm, debugData: "too_many_pings"))
  }

  /// The connection is to go.
  package mutating func drain(nowMillis: Int64, _ why: Ending = .drain) -> Step {
    guard phase == .open else { return .nothing }
    phase = .announced
    ending = why
    phaseEndsMillis = nowMillis + limits.noticeMillis
    return .announceShutdown
  }

  /// The peer answered the PING that followed the first GOAWAY.
  package mutating func noticed(nowMillis: Int64) -> Step {
    guard phase == .announced else { return .nothing }
    phase = .goingAway
    phaseEndsMillis = nowMillis + limits.graceMillis
    return .shutDown(ending)
  }

  /// Whether a connection that was told to go has gone far enough to be closed.
  package func isOver(nowMillis: Int64, callsOpen: Bool) -> Bool {
    phase == .goingAway && (!callsOpen || nowMillis >= phaseEndsMillis)
  }

  /// What is due now. Asked at `nextMillis`.
  package mutating func due(nowMillis: Int64, callsOpen: Bool) -> Step {
    switch phase {
    // Without calls it ends once its last answers are written, which may take a while.
    case .goingAway: return nowMillis >= phaseEndsMillis ? .close : .nothing
    case .announced: return nowMillis >= phaseEndsMillis ? noticed(nowMillis: nowMillis) : .nothing
    case .open: break
    }
    if nowMillis >= phaseEndsMillis { return drain(nowMillis: nowMillis, .age) }
    if !callsOpen, nowMillis - idleSinceMillis >= limits.idleMillis { return drain(nowMillis: nowMillis, .idle) }
    if let sent = pingSentMillis { return nowMillis - sent >= limits.keepaliveTimeoutMillis ? .close : .nothing }
    guard nowMillis - lastReadMillis >= limits.keepaliveMillis else { return .nothing }
    pingSentMillis = nowMillis
    return .ping
  }

  /// When `due` should be asked next, at the latest.
  package func nextMillis(callsOpen: Bool) -> Int64 {
    guard phase == .open else { return phaseEndsMillis }
    let keepalive = pingSentMillis.map { $0 + limits.keepaliveTimeoutMillis } ?? lastReadMillis + limits.keepaliveMillis
    let idle = callsOpen ? Int64.max : idleSinceMillis + limits.idleMillis
    return min(phaseEndsMillis, keepalive, idle)
  }
}
