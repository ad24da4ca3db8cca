import Testing

@testable import HTTP1

private let addressMax = 3

private func held(_ networks: String...) -> [HTTPPlaces.Held?] {
  networks.enumerated().map { $1.isEmpty ? nil : HTTPPlaces.Held(network: $1, number: UInt64(100 - $0)) }
}

private func decide(_ network: String, isLocal: Bool = false, _ places: [HTTPPlaces.Held?]) -> HTTPPlaces.Decision {
  HTTPPlaces.decide(network: network, isLocal: isLocal, in: places, perAddressMax: addressMax)
}

@Test func `an address takes free places up to its limit, and is refused past it`() {
  #expect(decide("a", held("", "", "", "")) == .take(0))
  #expect(decide("a", held("a", "a", "", "")) == .take(2))
  #expect(decide("a", held("a", "a", "a", "")) == .refuse)
  #expect(decide("b", held("a", "a", "a", "")) == .take(3))
}

@Test func `where all places are taken, the busiest address gives up the connection that it has held longest`() {
  #expect(decide("c", held("a", "b", "a", "b", "b")) == .replace(4))
  #expect(decide("c", held("a", "b", "c", "d")) == .refuse, "it has as many as the busiest")
  #expect(decide("e", held("a", "b", "c", "d")) == .replace(3))
}

@Test func `an address that is as busy as the busiest takes no place of another`() {
  #expect(decide("b", held("a", "b", "a", "b")) == .refuse)
}

@Test func `a local client finds room past its limit, in the place of its own oldest connection`() {
  #expect(decide("l", isLocal: true, held("l", "l", "a", "l", "")) == .replace(3))
  #expect(decide("l", isLocal: true, held("a", "a", "b")) == .replace(1))
  #expect(decide("l", isLocal: true, held("a", "l", "b")) == .replace(1))
}

@Test(arguments: [
  ("127.0.0.1", true), ("::1", true), ("::ffff:127.0.0.1", true), ("127.0.0.2", false), ("10.0.0.1", false),
  ("", false),
])
func `only the two addresses of the machine itself are local`(address: String, isLocal: Bool) {
  #expect(HTTPPlaces.isLocal(address) == isLocal)
}
