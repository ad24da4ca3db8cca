/// The lifetime of one connection: keepalive, maximum age, idle time and drain (gRFC A8, A9). It has no timers: the
/// caller reports each event with its time and performs the returned step.
package struct Life {
  package struct Limits: Sendable {
    /// Minimum interval between a client's pings, with open calls and without.
    package var pingIntervalWithCallsMillis: Int64 = 60_000
    package var pingIntervalIdleMillis: Int64 = 300_000
    package var pingStrikesMax = 2
    package var idleMillis: Int64 = 900_000
    package var ageMillis: Int64 = 3_600_000
    package var keepaliveMillis: Int64 = 300_000
    package var keepaliveTimeoutMillis: Int64 = 20_000
    /// Time that calls in flight may take after the connection starts to drain.
    package var graceMillis: Int64 = 25_000
    /// Maximum wait for the answer to the PING between the two GOAWAYs.
    package var noticeMillis: Int64 = 1_000

    package init() {}
  }

  /// Why a connection drains. The raw value is the debug data of its last GOAWAY.
  package enum Ending: String, Sendable, CaseIterable {
    case drain = "draining"
    case idle = "max_idle"
    case age = "max_age"
    /// The connection is running out of stream IDs.
    case streamIDs = "max_streams"
  }

  package enum Step: Hashable, Sendable {
    case nothing
    case ping
    /// Send the first GOAWAY and a PING.
    case announceShutdown
    /// Send the second GOAWAY.
    case shutDown(Ending)
    /// Close without a GOAWAY. The peer is gone.
    case close
    case terminate(Fault)
  }

  private enum Phase { case open, announced, goingAway }

  private let limits: Limits
  private var phase = Phase.open
  private var ending = Ending.drain
  /// When the current phase ends on its own.
  private var phaseEndsMillis: Int64
  private var idleSinceMillis: Int64
  private var lastReadMillis: Int64
  private var pingSentMillis: Int64?
  private var lastPingMillis: Int64?
  private var strikes = 0

  /// - Parameter jitter: From -1 to 1. Varies the maximum age by up to 10 %, so that connections opened together do not
  ///   end together.
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

  /// Records that a call began or ended, or that a response was sent.
  package mutating func used(nowMillis: Int64) {
    idleSinceMillis = nowMillis
    // Pings between responses are legitimate keepalive.
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

  /// Starts to drain the connection.
  package mutating func drain(nowMillis: Int64, _ why: Ending = .drain) -> Step {
    guard phase == .open else { return .nothing }
    phase = .announced
    ending = why
    phaseEndsMillis = nowMillis + limits.noticeMillis
    return .announceShutdown
  }

  /// Records that the peer answered the PING after the first GOAWAY.
  package mutating func noticed(nowMillis: Int64) -> Step {
    guard phase == .announced else { return .nothing }
    phase = .goingAway
    phaseEndsMillis = nowMillis + limits.graceMillis
    return .shutDown(ending)
  }

  /// Whether a draining connection can close now.
  package func isOver(nowMillis: Int64, callsOpen: Bool) -> Bool {
    phase == .goingAway && (!callsOpen || nowMillis >= phaseEndsMillis)
  }

  /// Returns the step that is due now. The caller asks at `nextMillis`.
  package mutating func due(nowMillis: Int64, callsOpen: Bool) -> Step {
    switch phase {
    // A connection without calls ends after its last responses are written, which may take a while.
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

  /// Returns the latest time for the next call of `due`.
  package func nextMillis(callsOpen: Bool) -> Int64 {
    guard phase == .open else { return phaseEndsMillis }
    let keepalive = pingSentMillis.map { $0 + limits.keepaliveTimeoutMillis } ?? lastReadMillis + limits.keepaliveMillis
    let idle = callsOpen ? Int64.max : idleSinceMillis + limits.idleMillis
    return min(phaseEndsMillis, keepalive, idle)
  }
}
