import CLinux
import Synchronization
import Testing

@testable import Reactor

extension Poll.Event {
  fileprivate var name: String {
    switch self {
    case .commands: "commands"
    case .alarm: "alarm"
    case .socket(let ticket, let isReadable, let isWritable, let isBroken):
      "\(ticket.slot).\(ticket.generation)\(isReadable ? " read" : "")\(isWritable ? " write" : "")"
        + (isBroken ? " broken" : "")
    }
  }
}

@Suite struct PollTests {
  private let commandQueue: CommandQueue<Int>
  private let poll: Poll

  init() throws {
    commandQueue = try CommandQueue()
    poll = try Poll(commandQueue)
  }

  private func events(waitMillis: Int32 = 0) -> [String] { poll.take(waitMillis: waitMillis).map(\.name) }

  @Test func `commands wake the poll once, and again after they were taken`() {
    #expect(events() == [])
    commandQueue.post(1)
    commandQueue.post(2)
    #expect(events() == ["commands"])
    #expect(commandQueue.takeFromPoll() == [1, 2])
    #expect(events() == [])
    commandQueue.post(3)
    #expect(events() == ["commands"])
    #expect(commandQueue.takeFromPoll() == [3])
  }

  @Test func `no command is lost between a look and the next wait`() async {
    let commands = 20_000
    let handled = Notes<Int>()
    startThread(named: "poster") { [commandQueue] in for command in 0..<commands { commandQueue.post(command) } }
    while handled.all.count < commands {
      guard events(waitMillis: 3_000) == ["commands"] else { break }
      for command in commandQueue.takeFromPoll() { handled.add(command) }
    }
    #expect(handled.all == Array(0..<commands))
  }

  @Test func `a closed command queue wakes the poll, keeps its commands and accepts no more`() {
    #expect(commandQueue.post(1))
    #expect(commandQueue.takeFromPoll() == [1])
    #expect(commandQueue.post(2))
    commandQueue.close()
    #expect(!commandQueue.post(3) && commandQueue.isClosed)
    #expect(events() == ["commands"])
    #expect(commandQueue.takeFromPoll() == [2])
  }

  @Test func `the alarm fires once, at its time`() {
    poll.setAlarm(millis: 60_000)
    #expect(events() == [])
    let begun = monotonicMillis()
    poll.setAlarm(millis: 20)
    #expect(events(waitMillis: 3_000) == ["alarm"])
    #expect(monotonicMillis() - begun >= 20)
    #expect(events() == [])
    poll.setAlarm(millis: 0)
    poll.setAlarm(millis: nil)
    #expect(events(waitMillis: 20) == [])
  }

  @Test func `a socket is watched for what was asked last, and then no more`() throws {
    let (pair, ticket) = (Pair(), Ticket(slot: 4, generation: 9))
    defer { pair.close() }
    pair.write()
    try poll.watch(pair.near, ticket, read: true, write: false)
    #expect(events() == ["4.9 read"])
    try poll.watch(pair.near, ticket, read: true, write: true)
    #expect(events() == ["4.9 read write"])
    try poll.watch(pair.near, ticket, read: false, write: false)
    #expect(events() == [])
    try poll.unwatch(pair.near)
    #expect(throws: SystemError(code: ENOENT, call: "epoll_ctl")) { try poll.unwatch(pair.near) }
  }

  @Test func `a peer that is gone is an event whatever the socket is watched for`() throws {
    let pair = Pair()
    try poll.watch(pair.near, Ticket(slot: 1, generation: 0), read: false, write: false)
    lk_close(pair.far)
    #expect(events() == ["1.0 broken"])
    lk_close(pair.near)
  }

  @Test func `another epoll sees that it has events`() throws {
    let outer = try Epoll(eventsMax: 1)
    try outer.add(poll.descriptor, Ticket(slot: 0, generation: 0), read: true, write: false)
    #expect(outer.wait(timeoutMillis: 0) == 0)
    commandQueue.post(1)
    #expect(outer.wait(timeoutMillis: 3_000) == 1 && outer[0].isReadable)
    _ = commandQueue.takeFromPoll()
    #expect(outer.wait(timeoutMillis: 0) == 0)
  }
}
