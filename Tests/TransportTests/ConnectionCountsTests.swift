import HTTP2
import Testing

@testable import Observability
@testable import Transport

private func counts(
  connectionsMax: Int = 1_000, perAddressMax: Int = 1_000, offencesMax: Int = 3
) -> ConnectionCounts {
  var limits = Limits()
  limits.connectionsMax = connectionsMax
  limits.connectionsPerAddressMax = perAddressMax
  limits.offencesPerAddressMax = offencesMax
  limits.offencesMillis = 60
  return ConnectionCounts(limits)
}

extension ConnectionCounts {
  fileprivate func enter(_ address: String) -> LimitKind? { enter(address, nowMillis: 0) }
}

@Test func `one address can have as many connections as its limit, and no more`() {
  let counts = counts(perAddressMax: 3)
  #expect((0..<4).map { _ in counts.enter("192.0.2.1") } == [nil, nil, nil, .connectionsPerAddress])
  // It does not affect other addresses.
  #expect(counts.enter("192.0.2.2") == nil)
}

@Test func `all addresses together can have as many connections as the server's limit`() {
  let counts = counts(connectionsMax: 3, perAddressMax: 2)
  #expect(["a", "a", "b", "c", "a"].map(counts.enter) == [nil, nil, nil, .connections, .connections])
}

@Test func `a closed connection frees a place for its address and in total`() {
  let counts = counts(connectionsMax: 2, perAddressMax: 1)
  #expect(["a", "b", "c"].map(counts.enter) == [nil, nil, .connections])
  counts.left("a")
  #expect(["b", "a", "c"].map(counts.enter) == [.connectionsPerAddress, nil, .connections])
  counts.left("a")
  counts.left("b")
  #expect(["c", "a", "b"].map(counts.enter) == [nil, nil, .connections])
}

@Test func `a refused connection does not count`() {
  let counts = counts(connectionsMax: 10, perAddressMax: 1)
  #expect((0..<20).map { _ in counts.enter("a") }.filter { $0 == nil }.count == 1)
  #expect((0..<20).map { counts.enter("b\($0)") }.filter { $0 == nil }.count == 9)
}

@Test func `one host with many addresses of its network counts as one address`() {
  let counts = counts(perAddressMax: 1)
  #expect(["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"].map(counts.enter) == [nil, .connectionsPerAddress, nil])
  counts.left("2001:db8::2")
  #expect(counts.enter("2001:db8::3") == nil)
}

@Test func `a host counts as one address over IPv4 and over the IPv6 form of its address`() {
  let counts = counts(perAddressMax: 1)
  let answers = ["192.0.2.1", "::ffff:192.0.2.1", "::ffff:192.0.2.2", ""].map(counts.enter)
  #expect(answers == [nil, .connectionsPerAddress, nil, nil])
}

@Test func `offences count for a network as well`() {
  let counts = counts(offencesMax: 0)
  counts.offended("2001:db8::1", nowMillis: 0)
  #expect(counts.enter("2001:db8::2") == .offencesPerAddress)
  #expect(counts.enter("2001:db8:0:1::1") == nil)
}

// MARK: Reconnecting after abuse

@Test func `an address may offend up to its limit, and is refused for a time after one more`() {
  let counts = counts(offencesMax: 3)
  for _ in 0..<3 { counts.offended("a", nowMillis: 100) }
  #expect(counts.enter("a", nowMillis: 100) == nil)
  counts.offended("a", nowMillis: 110)
  #expect(counts.enter("a", nowMillis: 110) == .offencesPerAddress)
  #expect(counts.enter("a", nowMillis: 159) == .offencesPerAddress)
  #expect(counts.enter("b", nowMillis: 159) == nil)
  #expect(counts.enter("a", nowMillis: 160) == nil)
}

@Test func `offences are forgotten when their time ends`() {
  let counts = counts(offencesMax: 3)
  for at in [0, 30, 59, 60, 90, 119] as [Int64] { counts.offended("a", nowMillis: at) }
  #expect(counts.enter("a", nowMillis: 119) == nil)
}

@Test func `the number of recorded offenders is limited, and past it an earlier offender is admitted`() {
  let counts = counts(offencesMax: 0)
  for index in 0..<4_096 { counts.offended("a\(index)", nowMillis: 0) }
  #expect(counts.enter("a1", nowMillis: 0) == .offencesPerAddress)
  counts.offended("b", nowMillis: 0)
  #expect(counts.enter("a1", nowMillis: 0) == nil)
  #expect(counts.enter("b", nowMillis: 0) == .offencesPerAddress)
}

@Test(arguments: [
  Budget.Kind.unfinishedReset.rawValue, Budget.Kind.untaken.rawValue, "too_many_pings", "slow_frame",
  "stream_id_going_back",
])
func `faults that haste, distance or a wrong keepalive can cause are not offences`(word: String) {
  #expect(!Fault(code: .enhanceYourCalm, debugData: word).isOffence)
  #expect(Fault(code: .enhanceYourCalm, debugData: Budget.Kind.headerBomb.rawValue).isOffence)
}

@Test func `every reason that ends a connection for abuse is the name of a limit`() {
  let words = Budget.Kind.allCases.map(\.rawValue) + ["too_many_pings", "slow_frame"]
  for word in words { #expect(LimitKind(rawValue: word) != nil, "\(word)") }
}

@Test func `a proxied connection counts for its client, and for no address before`() {
  let counts = counts(connectionsMax: 4, perAddressMax: 1)
  let proxied = (0..<4).map { _ in counts.enter("10.0.0.1", isProxied: true, nowMillis: 0) }
  #expect(proxied == [nil, nil, nil, nil])
  #expect(counts.enter("10.0.0.1", isProxied: true, nowMillis: 0) == .connections)
  #expect(counts.admit("192.0.2.1", nowMillis: 0) == nil)
  #expect(counts.admit("192.0.2.1", nowMillis: 0) == .connectionsPerAddress)
  #expect(counts.admit("192.0.2.2", nowMillis: 0) == nil)
  // The rejected connection, which counts for no address, and an admitted one.
  counts.left(nil)
  counts.left("192.0.2.1")
  #expect(counts.enter("10.0.0.1", isProxied: true, nowMillis: 0) == nil)
  #expect(counts.admit("192.0.2.1", nowMillis: 0) == nil)
}
