import Testing

@testable import Transport

private typealias Phase = ConnectionPhase
private typealias End = ConnectionPhase.SessionEnd

private let all: [Phase] = [
  .handshaking(isNewcomer: true), .handshaking(isNewcomer: false), .serving, .draining, .closing, .closed(.inOrder),
  .closed(.abrupt),
]

/// Applies a transition to every phase and returns the phases that it changed.
private func changes(_ transition: (inout Phase) -> Void) -> [Phase: Phase] {
  var changed: [Phase: Phase] = [:]
  for phase in all {
    var after = phase
    transition(&after)
    if after != phase { changed[phase] = after }
  }
  return changed
}

private func counts(calls: Int = 0, holding: Int = 0) -> ConnectionLoad {
  var counts = ConnectionLoad()
  for index in 0..<calls { counts.began(ConnectionLoad.Kind(holdsDrain: index < holding)) }
  return counts
}

@Test func `a connection stops being a newcomer once`() {
  #expect(changes { _ = $0.processed() } == [.handshaking(isNewcomer: true): .handshaking(isNewcomer: false)])
  var phase = Phase.handshaking(isNewcomer: true)
  let ended = [phase.processed(), phase.processed()]
  #expect(ended == [true, false])
}

@Test func `a connection serves after its handshake`() {
  #expect(
    changes { $0.established() } == [
      .handshaking(isNewcomer: true): .serving, .handshaking(isNewcomer: false): .serving,
    ])
}

@Test func `only a connection that serves begins to drain`() {
  #expect(changes { $0.drain() } == [.serving: .draining])
}

@Test func `rejected input closes a connection that serves or drains`() {
  #expect(changes { $0.rejectedInput() } == [.serving: .closing, .draining: .closing])
}

@Test func `a connection closes once, and keeps the way it closed`() {
  for phase in all {
    var after = phase
    let closes = after.close(.inOrder)
    #expect(closes == !phase.isClosed)
    #expect(after == (phase.isClosed ? phase : .closed(.inOrder)))
    let closesAgain = after.close(.abrupt)
    #expect(!closesAgain && after.isClosed)
  }
}

@Test func `a closing connection closes as soon as its output is sent, even with open calls`() {
  #expect(Phase.closing.sentOutput(End(), counts(calls: 2, holding: 2)) == .close(.abrupt))
  #expect(Phase.closing.sentOutput(End(isOver: true, clientLeaves: true), counts()) == .close(.abrupt))
}

@Test(arguments: [
  (End(), .continue), (End(mayDrain: true), .continue), (End(isOver: true), .close(.abrupt)),
  (End(isOver: true, clientLeaves: true), .close(.inOrder)),
  (End(isOver: true, hasFault: true, clientLeaves: true), .close(.abrupt)),
] as [(ConnectionPhase.SessionEnd, ConnectionPhase.AfterOutput)])
func `a serving connection ends with its session, regularly if the client left`(
  end: ConnectionPhase.SessionEnd, next: ConnectionPhase.AfterOutput
) {
  #expect(Phase.serving.sentOutput(end, counts(calls: 1, holding: 1)) == next)
}

@Test(arguments: [
  (End(), 0, 0, .continue), (End(mayDrain: true), 0, 0, .close(.inOrder)), (End(mayDrain: true), 2, 1, .continue),
  (End(mayDrain: true), 2, 0, .endWatches), (End(hasFault: true, mayDrain: true), 0, 0, .close(.abrupt)),
  (End(isOver: true), 2, 1, .close(.inOrder)), (End(isOver: true, hasFault: true), 0, 0, .close(.abrupt)),
] as [(ConnectionPhase.SessionEnd, Int, Int, ConnectionPhase.AfterOutput)])
func `a connection that drains waits for its calls, ends those that watch, and closes`(
  end: ConnectionPhase.SessionEnd, calls: Int, holding: Int, next: ConnectionPhase.AfterOutput
) {
  #expect(Phase.draining.sentOutput(end, counts(calls: calls, holding: holding)) == next)
}

@Test(arguments: [Phase.handshaking(isNewcomer: false), .closed(.abrupt)] as [ConnectionPhase])
func `a connection without a session does nothing after its output`(phase: ConnectionPhase) {
  #expect(phase.sentOutput(End(isOver: true), counts()) == .continue)
}

// MARK: Counts, timers and queues

@Test func `a call is counted under its kind, and leaves no count when it ends`() {
  var load = ConnectionLoad()
  let watch = ConnectionLoad.Kind(isStreaming: true, follows: true)
  let unary = ConnectionLoad.Kind(holdsDrain: true)
  load.began(watch)
  load.began(unary)
  #expect([load.calls, load.streamingCalls, load.followingCalls, load.holdingCalls] == [2, 1, 1, 1])
  load.ended(watch)
  #expect([load.calls, load.streamingCalls, load.followingCalls, load.holdingCalls] == [1, 0, 0, 1])
  load.ended(unary)
  #expect(load == ConnectionLoad())
}

@Test func `deliveries, held bytes and metered streams are counted by their changes`() {
  var load = ConnectionLoad()
  load.beganDelivery()
  load.held(bytes: 7)
  load.held(bytes: -3)
  #expect(load.deliveringCalls == 1 && load.heldBytes == 4)
  let changes = [load.meter(streams: 3), load.meter(streams: 3), load.meter(streams: 1)]
  #expect(changes == [3, 0, -2])
  #expect(load.meteredStreams == 1)
  load.endedDelivery()
  #expect(load.deliveringCalls == 0)
}

@Test func `a timer starts once until it fires, and does not block other timers`() {
  var timers: ConnectionTimers = []
  let starts = [timers.start(.begun), timers.start(.begun), timers.start(.untaken)]
  #expect(starts == [true, false, true])
  timers.fired(.begun)
  #expect(timers == .untaken)
  let startsAgain = timers.start(.begun)
  #expect(startsAgain)
}
