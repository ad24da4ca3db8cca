import Reactor
import Testing

@testable import HTTP1

private let addressMax = 3

private func ticket(_ place: Int) -> Ticket { Ticket(slot: UInt32(place), generation: 7) }

/// Decides about a connection where the places are held by these networks, the last one for the longest time. An empty
/// name is a free place.
private func decide(_ network: String, isLocal: Bool = false, _ networks: String...) -> HTTPPlaces.Decision {
  let held = networks.enumerated().filter { !$1.isEmpty }.map {
    HTTPPlaces.Held(ticket: ticket($0), network: $1, number: UInt64(100 - $0))
  }
  return HTTPPlaces.decide(
    network: network, isLocal: isLocal, in: held, placesMax: networks.count, perAddressMax: addressMax)
}

@Test func `an address gets free places up to its limit, and is refused past it`() {
  #expect(decide("a", "", "", "", "") == .take)
  #expect(decide("a", "a", "a", "", "") == .take)
  #expect(decide("a", "a", "a", "a", "") == .refuse)
  #expect(decide("b", "a", "a", "a", "") == .take)
}

@Test func `if all places are taken, the busiest address loses its oldest connection`() {
  #expect(decide("c", "a", "b", "a", "b", "b") == .replace(ticket(4)))
  #expect(decide("c", "a", "b", "c", "d") == .refuse, "it has as many as the busiest")
  #expect(decide("e", "a", "b", "c", "d") == .replace(ticket(3)))
}

@Test func `an address that is as busy as the busiest one gets no place from it`() {
  #expect(decide("b", "a", "b", "a", "b") == .refuse)
}

@Test func `a local client past its limit replaces its own oldest connection`() {
  #expect(decide("l", isLocal: true, "l", "l", "a", "l", "") == .replace(ticket(3)))
  #expect(decide("l", isLocal: true, "a", "a", "b") == .replace(ticket(1)))
  #expect(decide("l", isLocal: true, "a", "l", "b") == .replace(ticket(1)))
}

@Test(arguments: [
  ("127.0.0.1", true), ("::1", true), ("::ffff:127.0.0.1", true), ("127.0.0.2", false), ("10.0.0.1", false),
  ("", false),
])
func `only 127.0.0.1 and ::1 are local`(address: String, isLocal: Bool) {
  #expect(HTTPPlaces.isLocal(address) == isLocal)
}
