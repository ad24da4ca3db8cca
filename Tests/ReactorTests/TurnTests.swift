import CLinux
import TestSupport
import Testing

@testable import Reactor

@Test
func `a turn handles sockets, timers, commands, decisions, jobs and their commands, and its end, in this order`()
  throws
{
  let (loop, pair) = (try Loop(), Pair())
  // Everything becomes ready within one turn, so that the next turn handles all of it.
  loop.actUntilSignalled { [commandQueue = loop.commandQueue, events = loop.events] probe, done in
    try? probe.reactor.watch(pair.near, Ticket(slot: 3, generation: 4), read: true, write: false)
    pair.write()
    probe.onReady = { _ in try? probe.reactor.unwatch(pair.near) }
    probe.reactor.startTimer(Ticket(slot: 5, generation: 0), kind: 6, delayMillis: 0)
    commandQueue.post(.note("command"))
    Task(executorPreference: commandQueue) {
      events.add("job")
      commandQueue.post(.note("command of a job"))
      commandQueue.post(.act { _ in done.signal() })
    }
    events.add("begin")
  }
  loop.end()
  pair.close()
  let turn = loop.events.all.drop { $0 != "begin" }.drop { $0 != "end" }.dropFirst()
  #expect(
    turn.prefix(7) == ["ready 3.4 read", "timer 5 6", "command", "decide", "job", "command of a job", "end"])
}

@Test func `an event has the ticket of the current registration, not of an earlier one`() throws {
  let (loop, pair) = (try Loop(), Pair())
  loop.actUntilSignalled { probe, done in
    let reactor = probe.reactor
    probe.onReady = { _ in
      try? reactor.unwatch(pair.near)
      done.signal()
    }
    try? reactor.watch(pair.near, Ticket(slot: 1, generation: 7), read: true, write: false)
    try? reactor.unwatch(pair.near)
    try? reactor.watch(pair.near, Ticket(slot: 1, generation: 8), read: true, write: false)
    pair.write()
  }
  loop.end()
  pair.close()
  #expect(loop.events.all.filter { $0.hasPrefix("ready") } == ["ready 1.8 read"])
}

@Test func `a socket is watched for the events that were requested last`() throws {
  let (loop, pair) = (try Loop(), Pair())
  loop.actUntilSignalled { probe, done in
    let (reactor, ticket) = (probe.reactor, Ticket(slot: 2, generation: 0))
    pair.write()
    probe.onReady = { _ in
      try? reactor.change(pair.near, ticket, read: false, write: false)
      done.signal()
    }
    try? reactor.watch(pair.near, ticket, read: true, write: false)
    try? reactor.change(pair.near, ticket, read: false, write: true)
  }
  loop.act { _ in }
  loop.end()
  pair.close()
  #expect(loop.events.all.filter { $0.hasPrefix("ready") } == ["ready 2.0 write"])
}

@Test func `a closed peer makes a socket readable, whatever events are watched`() throws {
  let (loop, pair) = (try Loop(), Pair())
  loop.actUntilSignalled { probe, done in
    let reactor = probe.reactor
    probe.onReady = { _ in
      try? reactor.unwatch(pair.near)
      done.signal()
    }
    try? reactor.watch(pair.near, Ticket(slot: 0, generation: 0), read: false, write: false)
    lk_close(pair.far)
  }
  loop.end()
  lk_close(pair.near)
  #expect(loop.events.all.filter { $0.hasPrefix("ready") } == ["ready 0.0 read"])
}

@Test func `an error of epoll contains its errno`() throws {
  let pair = Pair()
  let commandQueue = try CommandQueue<Probe.Command>()
  let reactor = try Reactor<Probe>(commandQueue: commandQueue)
  let ticket = Ticket(slot: 0, generation: 0)
  try reactor.watch(pair.near, ticket, read: true, write: false)
  #expect(throws: SystemError(code: EEXIST, call: "epoll_ctl")) {
    try reactor.watch(pair.near, ticket, read: true, write: false)
  }
  try reactor.unwatch(pair.near)
  #expect(throws: SystemError(code: ENOENT, call: "epoll_ctl")) { try reactor.unwatch(pair.near) }
  #expect(throws: SystemError(code: EBADF, call: "epoll_ctl")) {
    try reactor.change(-1, ticket, read: true, write: false)
  }
  #expect(SystemError(code: ENOENT, call: "epoll_ctl").description == "epoll_ctl: No such file or directory")
  pair.close()
}

@Test(arguments: [Ticket(slot: 0, generation: 0), Ticket(slot: 1, generation: .max), Ticket(slot: .max, generation: 1)])
func `a ticket is unchanged after epoll returns it`(ticket: Ticket) {
  #expect(Ticket(packed: ticket.packed) == ticket)
}

@Test func `a timer fires once, and not before its time`() throws {
  let loop = try Loop()
  let times = Notes<Int64>()
  loop.actUntilSignalled { probe, done in
    times.add(probe.reactor.nowMillis)
    probe.onTimer = {
      times.add(monotonicMillis())
      done.signal()
    }
    probe.reactor.startTimer(Ticket(slot: 1, generation: 0), kind: 2, delayMillis: 30)
  }
  loop.end()
  #expect(times.all.count == 2 && times.all[1] - times.all[0] >= 30)
  #expect(loop.events.all.filter { $0.hasPrefix("timer") } == ["timer 1 2"])
}

@Test func `a timer that is set in the past fires in the next turn`() throws {
  let loop = try Loop()
  loop.actUntilSignalled { probe, done in
    probe.onTimer = { done.signal() }
    probe.reactor.startTimer(Ticket(slot: 1, generation: 0), kind: 2, delayMillis: -1_000)
  }
  loop.end()
  #expect(loop.events.all.filter { $0.hasPrefix("timer") } == ["timer 1 2"])
}

@Test func `a turn with remaining work is followed by another one immediately`() async throws {
  let loop = try Loop()
  loop.act { probe in
    probe.leftoverTurns = 5
    probe.events.add("begin")
  }
  // Nothing else wakes the reactor: the following turns handle only the remaining work.
  #expect(await eventually { loop.events.all.drop { $0 != "begin" }.filter { $0 == "end" }.count >= 5 })
  loop.end()
}

@Test func `a reactor that is stopped finishes its turn`() throws {
  let loop = try Loop()
  loop.commandQueue.post(
    .act { probe in
      probe.reactor.stop()
      probe.events.add("stopped")
    })
  loop.end()
  #expect(loop.events.all.suffix(3) == ["stopped", "decide", "end"])
}
