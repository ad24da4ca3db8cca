import Synchronization
import Testing

@testable import Transport

private func load(connections: Int, newcomers: Int) -> Load {
  let load = Load()
  load.connections.store(connections, ordering: .relaxed)
  load.newcomers.store(newcomers, ordering: .relaxed)
  return load
}

@Test(arguments: [
  ([(0, 0)], 0), ([(2, 0), (1, 0), (3, 0)], 1), ([(1, 63), (2, 0)], 0), ([(1, 64), (2, 0)], 1),
  ([(100, 64), (200, 63), (300, 0)], 1), ([(100, 64), (200, 64)], nil), ([(64, 64), (63, 63)], 1), ([], nil),
] as [([(connections: Int, newcomers: Int)], Int?)])
func `the next connection goes to the reactor with the fewest, if its newcomers are below the limit`(
  reactors: [(connections: Int, newcomers: Int)], chosen: Int?
) {
  let loads = reactors.map { load(connections: $0.connections, newcomers: $0.newcomers) }
  #expect(Load.least(of: loads, newcomersMax: Limits().newcomersPerReactorMax) == chosen)
}
