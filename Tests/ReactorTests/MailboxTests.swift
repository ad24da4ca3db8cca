import CLinux
import Glibc
import Synchronization
import Testing

@testable import Reactor

extension Mailbox {
  /// How often the descriptor was raised since the last look.
  fileprivate var raises: UInt64 {
    var count: UInt64 = 0
    return unsafe lk_read(wakeDescriptor, &count, 8) == 8 ? count : 0
  }
}

@Test func `many letters wake a sleeping reactor once`() throws {
  let mailbox = try Mailbox<Int>()
  let isAsleep = mailbox.prepareToSleep()
  #expect(isAsleep)
  for letter in 0..<1_000 { mailbox.post(letter) }
  #expect(mailbox.raises == 1)
  #expect(mailbox.take().letters == Array(0..<1_000))
}

@Test func `letters to a reactor that is awake raise nothing, and it does not go to sleep on them`() throws {
  let mailbox = try Mailbox<Int>()
  mailbox.post(1)
  let isAsleep = mailbox.prepareToSleep()
  #expect(!isAsleep)
  mailbox.post(2)
  #expect(mailbox.raises == 0)
  #expect(mailbox.take().letters == [1, 2])
  #expect(mailbox.take().letters == [])
}

@Test func `letters of many threads at once wake a sleeping reactor once, and none is lost`() throws {
  let mailbox = try Mailbox<Int>()
  for round in 0..<20 {
    _ = mailbox.prepareToSleep()
    let (threads, done) = (8, Wakeups())
    for thread in 0..<threads {
      startThread(named: "poster") {
        for letter in 0..<100 { mailbox.post(thread * 100 + letter) }
        done.signal()
      }
    }
    for _ in 0..<threads { done.wait() }
    #expect(mailbox.raises == 1, "round \(round)")
    #expect(mailbox.take().letters.sorted() == Array(0..<800), "round \(round)")
  }
}

/// Letters that were handled, for a thread that spins.
private final class Handled: Sendable {
  let count = Atomic<Int>(0)
}

@Test func `a reactor that falls asleep just now is woken by the letter that comes just now`() async throws {
  let (mailbox, handled) = (try Mailbox<Int>(), Handled())
  let letters = 60_000
  startThread(named: "poster") {
    for letter in 0..<letters {
      while handled.count.load(ordering: .acquiring) < letter {}
      // A little later each time: the sleeper is met at every step of its way to sleep.
      for _ in 0..<letter % 64 { _ = handled.count.load(ordering: .relaxed) }
      mailbox.post(letter)
    }
  }
  // What a turn does, and nothing else, so that nearly all of it is falling asleep.
  let lost = await withCheckedContinuation { continuation in
    startThread(named: "sleeper") {
      while handled.count.load(ordering: .relaxed) < letters {
        if mailbox.prepareToSleep() {
          var entry = pollfd(fd: mailbox.wakeDescriptor, events: Int16(POLLIN), revents: 0)
          guard unsafe poll(&entry, 1, 3_000) == 1 else { break }
          mailbox.clearWake()
        }
        handled.count.add(mailbox.take().letters.count, ordering: .releasing)
      }
      continuation.resume(returning: letters - handled.count.load(ordering: .relaxed))
      handled.count.store(letters, ordering: .relaxed)
    }
  }
  #expect(lost == 0)
}

@Test func `the jobs of a task that prefers the mailbox run on the reactor's thread`() async throws {
  let loop = try Loop()
  let reactorThread = Notes<UInt>()
  loop.act { _ in reactorThread.add(currentThread()) }
  let task = Task(executorPreference: loop.mailbox) {
    var threads = [currentThread()]
    for _ in 0..<10 {
      await Task.yield()
      threads.append(currentThread())
    }
    return threads
  }
  let threads = await task.value
  loop.end()
  #expect(Set(threads) == Set(reactorThread.all))
  #expect(threads[0] != currentThread())
}

@Test func `what the jobs of a turn answer is delivered in the same turn`() throws {
  let loop = try Loop()
  loop.actUntilSignalled { [mailbox = loop.mailbox, events = loop.events] _, done in
    Task(executorPreference: mailbox) {
      events.add("job")
      mailbox.post(.note("its answer"))
      mailbox.post(.act { _ in done.signal() })
    }
  }
  loop.end()
  #expect(loop.events.all.drop { $0 != "job" }.prefix(3) == ["job", "its answer", "end"])
}
