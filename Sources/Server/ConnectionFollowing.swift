internal import HTTP2
internal import Reactor
internal import Services
internal import Synchronization

// Streaming calls that say more whenever the store has more to say.
//
// The writer's commit posts a letter to each worker that has such calls; the worker then asks each of them for work.
// One whose client has yet to take what it was sent is asked again when it has, so that nothing gathers here.

extension Connection {
  func beginFollowing() {
    followingCalls += 1
    worker.startsFollowing(self)
    startFollowTimer()
  }

  func endFollowing() {
    followingCalls -= 1
    worker.stopsFollowing(self)
  }

  /// For heartbeats, and for a store that others write as well.
  func followFired() {
    hasFollowTimer = false
    guard followingCalls > 0, !isClosed else { return }
    hearNews()
    startFollowTimer()
  }

  private func startFollowTimer() {
    guard !hasFollowTimer else { return }
    hasFollowTimer = true
    var delay = min(worker.limits.followMillis, worker.limits.watch.heartbeatMillis)
    session?.sink.forEachStream { stream in
      // A call whose time has passed is at work, or its client has yet to take messages.
      guard let due = (stream.call as? ServerCall)?.nextDueMillis, due > worker.nowMillis else { return }
      delay = min(delay, due - worker.nowMillis)
    }
    worker.startTimer(self, kind: Worker.followTimer, delayMillis: delay)
  }

  func hearNews() {
    guard let session, !isClosed else { return }
    session.sink.forEachStream { stream in
      guard let call = stream.call as? ServerCall, call.follows else { return }
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
    if connection.followingCalls == 0 { following[ObjectIdentifier(connection)] = nil }
  }
}

/// Tells the workers that the store has something new for those who follow it.
final class StoreNews: Sendable {
  private let workers = Mutex<[(mailbox: Mailbox<WorkerLetter>, load: Load)]>([])

  func tell(_ workers: [(mailbox: Mailbox<WorkerLetter>, load: Load)]) { self.workers.withLock { $0 = workers } }

  /// On the writing thread, after a commit. A worker that has yet to look at the last letter gets no second one.
  func appended() {
    workers.withLock { workers in
      for worker in workers where worker.load.following.load(ordering: .acquiring) > 0 {
        if !worker.load.hasNews.exchange(true, ordering: .acquiringAndReleasing) { worker.mailbox.post(.news) }
      }
    }
  }
}
