import Testing

@testable import StorePostgres

@Test(arguments: [
  // Without a pooler that shares: each connection has its own session.
  (["1", "1", "2"], false),
  // The other connection received the idle session of the first one.
  (["1", "1", "1"], true),
  // Two transactions of one connection ran in different sessions.
  (["1", "2", "3"], true), (["1", "2", "2"], true), (["1", "2", "1"], true),
])
func `connections share sessions if one has several, or two have the same`(ids: [String], shares: Bool) {
  let sessions = Pooler.Sessions(first: ids[0], second: ids[1], other: ids[2])
  #expect(Pooler.sharesSessions(sessions) == shares)
}
