import Testing

@testable import Reactor

@Suite struct WorkQueueTests {
  @Test func `jobs are taken in order, in groups of at most the requested size`() throws {
    let queue = WorkQueue<Int>(jobsMax: 10)
    #expect(queue.push(Array(0..<5)).taken == 5)
    try queue.push(5)
    #expect(queue.count == 6)
    #expect(queue.take(atMost: 4) == [0, 1, 2, 3])
    #expect(queue.take(atMost: 4) == [4, 5])
    #expect(queue.count == 0)
  }

  @Test func `what does not fit is refused, and the jobs before it are kept`() throws {
    let queue = WorkQueue<Int>(jobsMax: 3)
    try queue.push(0)
    let (taken, refusal) = queue.push([1, 2, 3, 4])
    #expect(taken == 2 && refusal == .full)
    #expect(throws: QueueRefusal.full) { try queue.push(5) }
    #expect(queue.take(atMost: 9) == [0, 1, 2])
    try queue.push(6)
  }

  @Test func `a closed queue takes no job, and ends when the earlier ones are taken`() throws {
    let queue = WorkQueue<Int>(jobsMax: 3)
    try queue.push(1)
    queue.close()
    #expect(throws: QueueRefusal.closed) { try queue.push(2) }
    #expect(queue.take(atMost: 1) == [1])
    #expect(queue.take(atMost: 1) == nil)
  }

  @Test func `every job of many threads is done once by one of many, and all of them end`() async {
    let (queue, done, ended) = (WorkQueue<Int>(jobsMax: 100_000), Notes<Int>(), Wakeups())
    let (workers, posters, each) = (3, 4, 2_000)
    for _ in 0..<workers {
      startThread(named: "worker") {
        while let jobs = queue.take(atMost: 3) { for job in jobs { done.add(job) } }
        ended.signal()
      }
    }
    let posted = Wakeups()
    for poster in 0..<posters {
      startThread(named: "poster") {
        for job in 0..<each { try? queue.push(poster * each + job) }
        posted.signal()
      }
    }
    for _ in 0..<posters { posted.wait() }
    queue.close()
    for _ in 0..<workers { ended.wait() }
    #expect(done.all.sorted() == Array(0..<posters * each))
  }
}
