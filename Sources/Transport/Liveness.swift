package import Reactor
internal import Synchronization

/// Detection of event loops that no longer turn, for example because a disk or a lock never responds.
///
/// Each check sends a command to every loop that has confirmed the previous one. It costs nothing without checks.
package struct Liveness: Sendable {
  package typealias Place = (commandQueue: CommandQueue<WorkerCommand>, load: Load)

  /// Time without a confirmation after which a loop counts as stalled.
  package static let stallMillis: Int64 = 10_000

  private let places: [Place]

  package init(_ places: [Place]) { self.places = places }

  /// Returns the number of stalled loops. A loop that has ended is not stalled.
  package func stalledCount(nowMillis: Int64) -> Int {
    places.reduce(0) { $0 + (isStalled($1, nowMillis) ? 1 : 0) }
  }

  private func isStalled(_ place: Place, _ nowMillis: Int64) -> Bool {
    let since = place.load.beatMillis.load(ordering: .acquiring)
    guard since == 0 else { return nowMillis - since >= Liveness.stallMillis }
    place.load.beatMillis.store(nowMillis, ordering: .releasing)
    if !place.commandQueue.post(.beat) { place.load.beatMillis.store(0, ordering: .releasing) }
    return false
  }
}
