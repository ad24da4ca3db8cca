import Testing

@testable import Server

@Test func `a limit of descriptors below the number of connections causes a warning`() {
  #expect(Server.warning(descriptorsMax: 1_256, connectionsMax: 1_000) == nil)
  #expect(Server.warning(descriptorsMax: nil, connectionsMax: 1_000) == nil)
  let warning = Server.warning(descriptorsMax: 1_255, connectionsMax: 1_000)
  #expect(warning?.contains("1255") == true && warning?.contains("limits.connections_max") == true)
}
