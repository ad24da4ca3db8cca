import Testing

@testable import Server

private func census(connectionsMax: Int, perAddressMax: Int) -> Census {
  var limits = Limits()
  limits.connectionsMax = connectionsMax
  limits.connectionsPerAddressMax = perAddressMax
  return Census(limits)
}

@Test func `one address has as many connections as its limit, and not one more`() {
  let census = census(connectionsMax: 100, perAddressMax: 3)
  #expect((0..<4).map { _ in census.enter("192.0.2.1") } == [nil, nil, nil, .connectionsPerAddress])
  // Others are not held up by it.
  #expect(census.enter("192.0.2.2") == nil)
}

@Test func `all addresses together have as many connections as the server's limit`() {
  let census = census(connectionsMax: 3, perAddressMax: 2)
  #expect(["a", "a", "b", "c", "a"].map(census.enter) == [nil, nil, nil, .connections, .connections])
}

@Test func `who leaves makes room, for his address and for all`() {
  let census = census(connectionsMax: 2, perAddressMax: 1)
  #expect(["a", "b", "c"].map(census.enter) == [nil, nil, .connections])
  census.left("a")
  #expect(["b", "a", "c"].map(census.enter) == [.connectionsPerAddress, nil, .connections])
  census.left("a")
  census.left("b")
  #expect(["c", "a", "b"].map(census.enter) == [nil, nil, .connections])
}

@Test func `who was turned away does not count`() {
  let census = census(connectionsMax: 10, perAddressMax: 1)
  #expect((0..<20).map { _ in census.enter("a") }.filter { $0 == nil }.count == 1)
  #expect((0..<20).map { census.enter("b\($0)") }.filter { $0 == nil }.count == 9)
}
