internal import Reactor
internal import Services
internal import Synchronization
internal import API

/// What reaches a worker from other threads.
enum WorkerLetter: Sendable {
  case accepted(descriptor: Int32, address: String)
  /// What the task of a unary call came to, by its number among those that run.
  case answered(task: Int, Result<any ProtobufEncodable, any Error>)
  /// The same of what a streaming call wanted done.
  case worked(task: Int, Result<any Sendable, any Error>)
  /// The store has more for calls that follow it.
  case news
  /// Those who watch the health are to look again.
  case healthChanged
  /// Stop taking work, let calls finish.
  case drain
  /// End now.
  case stop
}

/// How loaded one worker is, for who hands out connections.
final class Load: Sendable {
  let connections = Atomic<Int>(0)
  /// Of them, those that the worker has yet to look at. What a client then leaves unsaid costs no time, so a handshake
  /// that stands still does not count: a few hundred silent sockets would keep everybody else out.
  let newcomers = Atomic<Int>(0)
  /// Calls that follow the store.
  let following = Atomic<Int>(0)
  /// A letter says so, and has yet to be looked at.
  let hasNews = Atomic<Bool>(false)

  /// Which of them is given the next connection: the one with the fewest, of those that may have one more on its way.
  static func least(of loads: [Load], newcomersMax: Int) -> Int? {
    loads.indices.filter { loads[$0].newcomers.load(ordering: .relaxed) < newcomersMax }
      .min { loads[$0].connections.load(ordering: .relaxed) < loads[$1].connections.load(ordering: .relaxed) }
  }
}
