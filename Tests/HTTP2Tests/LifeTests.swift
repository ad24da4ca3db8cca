import Testing

@testable import HTTP2

/// Round and different numbers, so that the tests detect a mix-up.
private let limits = {
  var limits = Life.Limits()
  limits.pingIntervalWithCallsMillis = 60
  limits.pingIntervalIdleMillis = 300
  limits.idleMillis = 9_000
  limits.ageMillis = 40_000
  limits.keepaliveMillis = 3_000
  limits.keepaliveTimeoutMillis = 200
  limits.graceMillis = 5_000
  limits.noticeMillis = 10
  return limits
}()

private let tooManyPings = Life.Step.terminate(Fault(code: .enhanceYourCalm, debugData: "too_many_pings"))

/// A connection that was opened at time 0 and is now in one of its states.
private enum State: CaseIterable {
  case open, awaitingPing, announced, goingAway

  /// The connection at `reachedMillis`.
  var life: Life {
    var life = Life(limits, nowMillis: 0, jitter: 0)
    switch self {
    case .open: break
    case .awaitingPing: _ = life.due(nowMillis: 3_000, callsOpen: true)
    case .announced: _ = life.drain(nowMillis: 3_000)
    case .goingAway:
      _ = life.drain(nowMillis: 3_000)
      _ = life.noticed(nowMillis: 3_000)
    }
    return life
  }
}

@Test(arguments: zip(State.allCases, [true, true, false, false]))
private func `a connection is open until its shutdown is announced`(state: State, isOpen: Bool) {
  #expect(state.life.isOpen == isOpen)
}

@Test(arguments: zip(State.allCases, [Life.Step.announceShutdown, .announceShutdown, .nothing, .nothing]))
private func `A10: a drain announces the shutdown, once`(state: State, step: Life.Step) {
  var life = state.life
  #expect(life.drain(nowMillis: 3_001) == step)
  #expect(!life.isOpen)
  #expect(life.drain(nowMillis: 3_002) == .nothing)
}

@Test(arguments: zip(State.allCases, [Life.Step.nothing, .nothing, .shutDown(.drain), .nothing]))
private func `A10: the second GOAWAY follows the answer to the PING of the first`(
  state: State, step: Life.Step
) {
  var life = state.life
  #expect(life.noticed(nowMillis: 3_005) == step)
}

@Test(arguments: State.allCases)
private func `reads, use and pings do not change the phase of a connection`(state: State) {
  var life = state.life
  life.read(nowMillis: 3_001)
  life.used(nowMillis: 3_001)
  #expect(life.pinged(nowMillis: 3_001, callsOpen: true) == .nothing)
  #expect(life.isOpen == state.life.isOpen)
  #expect(life.due(nowMillis: 3_002, callsOpen: true) == .nothing)
}

@Test func `the second GOAWAY is sent after the notice time at the latest`() {
  var life = State.announced.life
  #expect(life.nextMillis(callsOpen: true) == 3_010)
  #expect(life.due(nowMillis: 3_009, callsOpen: false) == .nothing)
  #expect(life.due(nowMillis: 3_010, callsOpen: false) == .shutDown(.drain))
  #expect(life.due(nowMillis: 3_010, callsOpen: true) == .nothing)
}

@Test func `a connection that drains ends with its last call, after its answers are written`() {
  var life = State.goingAway.life
  #expect(!life.isOver(nowMillis: 3_001, callsOpen: true) && life.isOver(nowMillis: 3_001, callsOpen: false))
  for callsOpen in [true, false] {
    #expect(life.due(nowMillis: 7_999, callsOpen: callsOpen) == .nothing)
  }
  #expect(life.due(nowMillis: 8_000, callsOpen: false) == .close)
}

@Test func `a connection that drains ends its calls after the grace time`() {
  var life = State.goingAway.life
  #expect(life.nextMillis(callsOpen: true) == 8_000)
  #expect(life.due(nowMillis: 7_999, callsOpen: true) == .nothing)
  #expect(life.due(nowMillis: 8_000, callsOpen: true) == .close)
}

// MARK: Pings of the client (gRFC A8)

@Test(arguments: State.allCases)
private func `A11: two strikes are forgiven, the third ends the connection, in every state`(state: State) {
  var life = state.life
  #expect(life.pinged(nowMillis: 3_100, callsOpen: true) == .nothing, "the first of all is no strike")
  #expect(life.pinged(nowMillis: 3_101, callsOpen: true) == .nothing)
  #expect(life.pinged(nowMillis: 3_102, callsOpen: true) == .nothing)
  #expect(life.pinged(nowMillis: 3_103, callsOpen: true) == tooManyPings)
  #expect(life.pinged(nowMillis: 3_104, callsOpen: true) == tooManyPings)
}

@Test(arguments: [(true, 60), (false, 300)] as [(Bool, Int64)])
func `A11: a ping at the interval is not a strike, and one a millisecond earlier is`(callsOpen: Bool, interval: Int64) {
  var punctual = Life(limits, nowMillis: 0, jitter: 0)
  for count in 0..<50 {
    #expect(punctual.pinged(nowMillis: Int64(count) * interval, callsOpen: callsOpen) == .nothing, "ping \(count)")
  }
  var hasty = Life(limits, nowMillis: 0, jitter: 0)
  for count in 0..<3 { _ = hasty.pinged(nowMillis: Int64(count) * (interval - 1), callsOpen: callsOpen) }
  #expect(hasty.pinged(nowMillis: 3 * (interval - 1), callsOpen: callsOpen) == tooManyPings)
}

@Test func `A11: waiting does not forgive strikes`() {
  var life = Life(limits, nowMillis: 0, jitter: 0)
  for at in [0, 1, 2, 1_000, 2_000] as [Int64] { #expect(life.pinged(nowMillis: at, callsOpen: true) == .nothing) }
  #expect(life.pinged(nowMillis: 2_001, callsOpen: true) == tooManyPings)
}

@Test func `A11: an answer forgives all strikes, and the ping after it is the first again`() {
  var life = Life(limits, nowMillis: 0, jitter: 0)
  for _ in 0..<10 {
    for at in 0..<3 as Range<Int64> { #expect(life.pinged(nowMillis: at, callsOpen: true) == .nothing) }
    life.used(nowMillis: 3)
  }
}

// MARK: Idle, age, keepalive

/// A connection with constant traffic, so that keepalive has no effect.
private func lively(jitter: Double = 0, until nowMillis: Int64) -> Life {
  var life = Life(limits, nowMillis: 0, jitter: jitter)
  life.read(nowMillis: nowMillis)
  return life
}

@Test func `an idle connection gets a GOAWAY at its limit, not before`() {
  var life = lively(until: 8_999)
  #expect(life.nextMillis(callsOpen: false) == 9_000)
  #expect(life.due(nowMillis: 8_999, callsOpen: false) == .nothing)
  #expect(life.due(nowMillis: 9_000, callsOpen: false) == .announceShutdown)
  #expect(life.noticed(nowMillis: 9_001) == .shutDown(.idle))
}

@Test func `a connection with calls is not idle, and use restarts the idle time`() {
  var life = lively(until: 9_000)
  #expect(life.due(nowMillis: 9_000, callsOpen: true) == .nothing)
  life.used(nowMillis: 9_000)
  life.read(nowMillis: 17_999)
  #expect(life.due(nowMillis: 17_999, callsOpen: false) == .nothing)
  #expect(life.due(nowMillis: 18_000, callsOpen: false) == .announceShutdown)
}

@Test(arguments: [(0, 40_000), (1, 44_000), (-1, 36_000), (0.5, 42_000)] as [(Double, Int64)])
func `a connection announces its shutdown at its age, spread by ten percent, with or without calls`(
  jitter: Double, ageMillis: Int64
) {
  var life = lively(jitter: jitter, until: ageMillis - 1)
  #expect(life.nextMillis(callsOpen: true) == ageMillis)
  #expect(life.due(nowMillis: ageMillis - 1, callsOpen: true) == .nothing)
  #expect(life.due(nowMillis: ageMillis, callsOpen: true) == .announceShutdown)
  #expect(life.noticed(nowMillis: ageMillis + 1) == .shutDown(.age))
}

@Test(arguments: [true, false])
func `a silent connection is pinged, and closed if the ping stays unanswered`(callsOpen: Bool) {
  var life = Life(limits, nowMillis: 0, jitter: 0)
  #expect(life.nextMillis(callsOpen: callsOpen) == 3_000)
  #expect(life.due(nowMillis: 2_999, callsOpen: callsOpen) == .nothing)
  #expect(life.due(nowMillis: 3_000, callsOpen: callsOpen) == .ping)
  #expect(life.nextMillis(callsOpen: callsOpen) == 3_200)
  #expect(life.due(nowMillis: 3_199, callsOpen: callsOpen) == .nothing, "one ping is enough")
  #expect(life.due(nowMillis: 3_200, callsOpen: callsOpen) == .close)
}

@Test func `any bytes count as the answer to the server's ping`() {
  var life = State.awaitingPing.life
  life.read(nowMillis: 3_199)
  #expect(life.nextMillis(callsOpen: true) == 6_199)
  #expect(life.due(nowMillis: 3_200, callsOpen: true) == .nothing)
  #expect(life.due(nowMillis: 6_199, callsOpen: true) == .ping)
}

@Test(arguments: State.allCases, [true, false])
private func `a connection has something to do at its next deadline, and nothing before`(
  state: State, callsOpen: Bool
) {
  var life = state.life
  let next = life.nextMillis(callsOpen: callsOpen)
  #expect(life.due(nowMillis: next - 1, callsOpen: callsOpen) == .nothing)
  #expect(life.due(nowMillis: next, callsOpen: callsOpen) != .nothing)
}

@Test(arguments: zip(State.allCases, [false, false, false, true]))
private func `only a connection that has sent its true last id can be over`(
  state: State, isOver: Bool
) {
  var life = state.life
  #expect(life.isOver(nowMillis: 3_010, callsOpen: false) == isOver)
  #expect(!life.isOver(nowMillis: 3_010, callsOpen: true))
  #expect(life.isOver(nowMillis: 8_000, callsOpen: true) == isOver)
  if state == .announced { #expect(life.due(nowMillis: 3_010, callsOpen: false) == .shutDown(.drain)) }
}
