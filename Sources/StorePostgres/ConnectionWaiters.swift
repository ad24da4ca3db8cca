/// The pools that need connections, and how many each needs.
///
/// Each receives one in turn: after a loss, every thread has its first connection before any has its second.
struct ConnectionWaiters<Place: AnyObject> {
  private var places: [(place: Place, count: Int)] = []

  mutating func add(_ place: Place) {
    if let index = places.firstIndex(where: { $0.place === place }) {
      places[index].count += 1
    } else {
      places.append((place, 1))
    }
  }

  mutating func next() -> Place? {
    guard !places.isEmpty else { return nil }
    let (place, count) = places.removeFirst()
    if count > 1 { places.append((place, count - 1)) }
    return place
  }

  mutating func removeAll(where isGone: (Place) -> Bool) { places.removeAll { isGone($0.place) } }
}
