internal import HTTP2
package import Reactor
internal import Services
internal import Synchronization

// Streaming calls that follow the store, such as event streams.
//
// The commit posts a `news` command to each worker that has such calls. The worker then asks each call for work. It
// asks a call with unread messages only after the client has read them, so no messages accumulate here.

extension Connection {
  func beginFollowing() {
    worker.startsFollowing(self)
    startFollowTimer()
  }

  func endFollowing() {
    worker.stopsFollowing(self)
  }

  /// Polls for heartbeats, and for changes that other processes write to the store.
  func followFired() {
    timers.fired(.follow)
    guard load.followingCalls > 0, !isClosed else { return }
    hearNews()
    startFollowTimer()
  }

  private func startFollowTimer() {
    guard timers.start(.follow) else { return }
    var delay = min(worker.limits.followMillis, worker.limits.watch.heartbeatMillis)
    session?.sink.forEachStream { stream in
      // A call whose due time has passed is working, or its client has not read all messages.
      guard let due = (stream.call as? ServerCall)?.nextDueMillis, due > worker.nowMillis else { return }
      delay = min(delay, due - worker.nowMillis)
    }
    worker.startTimer(self, kind: Worker.followTimer, delayMillis: delay)
  }

  func hearNews() {
    guard let session, !isClosed else { return }
    session.sink.forEachStream { stream in
      guard let call = stream.call as? ServerCall, call.kind.follows else { return }
      call.news()
      seekWork(call)
    }
  }
}

extension Worker {
  func startsFollowing(_ connection: Connection) {
    load.following.add(1, ordering: .sequentiallyConsistent)
    following[ObjectIdentifier(connection)] = connection
  }

  func stopsFollowing(_ connection: Connection) {
    load.following.subtract(1, ordering: .relaxed)
    if connection.load.followingCalls == 0 { following[ObjectIdentifier(connection)] = nil }
  }
}

/// Notifies workers with following calls of new events in the store.
package final class StoreNews: Sendable {
  package init() {}

  private let workers = Mutex<[(commandQueue: CommandQueue<WorkerCommand>, load: Load)]>([])

  package func tell(_ workers: [(commandQueue: CommandQueue<WorkerCommand>, load: Load)]) {
    self.workers.withLock { $0 = workers }
  }

  /// Notifies the workers; called on the store's writer thread after a commit. A worker that has not processed the last
  /// command receives no second one.
  package func appended() {
    workers.withLock { workers in
      for worker in workers where worker.load.following.load(ordering: .acquiring) > 0 {
        if !worker.load.hasNews.exchange(true, ordering: .acquiringAndReleasing) { worker.commandQueue.post(.news) }
      }
    }
  }
}
