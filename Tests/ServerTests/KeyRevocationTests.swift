import Identity
import Reactor
import Store
import Synchronization
import TestSupport
import Testing
import Tokens

@testable import Configuration
@testable import Server

private let now = Timestamp(millis: 1_800_000_000_000)
private let day: Int64 = 86_400_000
private let lead: Int64 = 3_600_000

private func key(_ keyID: String, activeFrom: Int64, retiredAt: Int64? = nil) -> SigningKeyRecord {
  SigningKeyRecord(
    keyID: keyID, algorithm: "ES256", sealedPrivateKey: [], publishedAt: now.adding(millis: activeFrom - 1),
    activeFrom: now.adding(millis: activeFrom), retiredAt: retiredAt.map { now.adding(millis: $0) })
}

private func decide(
  _ records: [SigningKeyRecord], _ keyID: String, foreign: Set<String> = []
) -> KeyRevocation? {
  KeyRevocation.decide(records, foreign: foreign, keyID: keyID, KeyPolicy(), now: now)
}

/// The start of a successor that signs immediately, also on a replica whose clock is behind.
private let immediately = now.adding(millis: -60_000)

private let rows: [(name: String, records: [SigningKeyRecord], keyID: String, expected: KeyRevocation?)] = [
  ("an unknown key is not revoked", [key("a", activeFrom: -day)], "b", nil),
  (
    "the only key gets a successor that signs immediately", [key("a", activeFrom: -day)], "a",
    KeyRevocation(keyID: "a", successor: .created(activeFrom: immediately))
  ),
  (
    "the key that waits takes over immediately",
    [key("a", activeFrom: -day, retiredAt: 5), key("b", activeFrom: 5)], "a",
    KeyRevocation(keyID: "a", successor: .promoted(keyID: "b", activeFrom: immediately))
  ),
  (
    "of several that wait, the first takes over",
    [key("a", activeFrom: -day), key("b", activeFrom: 7), key("c", activeFrom: 6)], "a",
    KeyRevocation(keyID: "a", successor: .promoted(keyID: "c", activeFrom: immediately))
  ),
  (
    "a key of a clock that was ahead does not take over",
    [key("a", activeFrom: -day), key("b", activeFrom: 8 * day)], "a",
    KeyRevocation(keyID: "a", successor: .created(activeFrom: immediately))
  ),
  (
    "a key that waits is replaced by one with the whole lead, and its predecessor bridges it",
    [key("a", activeFrom: -day, retiredAt: 5), key("b", activeFrom: 5)], "b",
    KeyRevocation(
      keyID: "b", successor: .created(activeFrom: now.adding(millis: lead)), prolonged: ["a"])
  ),
  (
    "a predecessor that signs longer anyway keeps its end",
    [key("a", activeFrom: -day, retiredAt: lead), key("b", activeFrom: lead)], "b",
    KeyRevocation(keyID: "b", successor: .created(activeFrom: now.adding(millis: lead)))
  ),
  (
    "a retired key leaves without a successor",
    [key("a", activeFrom: -day, retiredAt: -5), key("b", activeFrom: -5)], "a", KeyRevocation(keyID: "a")
  ),
  (
    "one of two active keys leaves without a successor",
    [key("a", activeFrom: -day), key("b", activeFrom: -day)], "b", KeyRevocation(keyID: "b")
  ),
]

@Test(arguments: rows.indices)
func `what follows from a revocation`(index: Int) {
  let row = rows[index]
  #expect(decide(row.records, row.keyID) == row.expected, "\(row.name)")
}

@Test func `a key that this server cannot open takes over nothing, and can be revoked`() {
  let records = [key("a", activeFrom: -day), key("b", activeFrom: -day)]
  #expect(
    decide(records, "a", foreign: ["b"])
      == KeyRevocation(keyID: "a", successor: .created(activeFrom: immediately)))
  #expect(decide(records, "b", foreign: ["b"]) == KeyRevocation(keyID: "b"))
}

@Test func `one change confirms what the decision read, revokes the key and adds the successor`() throws {
  let records = [key("a", activeFrom: -day, retiredAt: 5), key("b", activeFrom: 5)]
  let confirmed = records.map { Write.signingKey(.confirm($0)) }
  #expect(
    try #require(decide(records, "a")).change(records, created: nil).writes
      == confirmed + [
        .signingKey(.revoke(keyID: "a")),
        .signingKey(.reschedule(keyID: "b", activeFrom: immediately, retiredAt: nil)),
      ])
  let created = key("c", activeFrom: lead)
  #expect(
    try #require(decide(records, "b")).change(records, created: created).writes
      == confirmed + [
        .signingKey(.revoke(keyID: "b")),
        .signingKey(
          .reschedule(keyID: "a", activeFrom: records[0].activeFrom, retiredAt: created.activeFrom)),
        .signingKey(.insert(created)),
      ])
}

// MARK: With a store

private let admin = CallerName("admin")

private func call(actor: String = "", origin: [(key: String, value: String)] = []) -> CallFacts {
  CallFacts(
    caller: admin, mayFetchByEmail: false, callerIdentified: true, audiences: ["app"], actor: actor, origin: origin)
}

private func revoke(_ keyID: String, _ replica: SigningKeyWatch) async throws -> RevokedSigningKey {
  try await replica.revoke(keyID: keyID, call())
}

private func token(_ replica: SigningKeyWatch) throws -> String {
  let now = Timestamp(millis: wallMillis())
  return try replica.tokens.mintIDToken(
    IDToken(
      accountID: "a", audience: "app", sessionID: "s", issuedAt: now, expiresAt: now.adding(millis: 60_000),
      authTime: now, methods: ["pwd"], signInProviderID: "password"))
}

private func isValid(_ token: String, _ replica: SigningKeyWatch) -> Bool {
  (try? replica.tokens.verifyIDToken(token, at: Timestamp(millis: wallMillis()))) != nil
}

@Test func `a revoked key verifies no token on its server immediately, on another one after its next look`()
  async throws
{
  let store = SigningKeyStore()
  let replicas = [try await watch(store, derived()), try await watch(store, derived())]
  let old = try #require(store.records.first)
  let before = try token(replicas[0])
  let revoked = try await revoke(old.keyID, replicas[0])
  let successor = try #require(store.records.first)
  #expect(store.records.count == 1 && revoked.successorKeyID == successor.keyID && successor.keyID != old.keyID)
  #expect(revoked.keys.map(\.state) == [.signing] && revoked.keys.map(\.keyID) == [successor.keyID])
  #expect(!isValid(before, replicas[0]) && isValid(before, replicas[1]))
  #expect(!replicas[0].tokens.signingKeys().contains(old.keyID))
  let after = try token(replicas[0])
  #expect(isValid(after, replicas[0]) && !isValid(after, replicas[1]))
  await replicas[1].look(.look)
  #expect(!isValid(before, replicas[1]) && isValid(after, replicas[1]))
  let row = try #require(store.events.last)
  #expect(store.events.count == 1 && row.event == "SIGNING_KEY_REVOKED" && row.caller == admin && row.accountID == "")
  #expect(row.detailsJSON == "{\"key_id\":\"\(old.keyID)\",\"successor_key_id\":\"\(successor.keyID)\"}")
  await #expect(throws: Identity.Failure.self) { try await revoke(old.keyID, replicas[0]) }
}

@Test(.timeLimit(.minutes(1)))
func `a server that meets a token of an unknown key reads the keys early`() async throws {
  let store = SigningKeyStore()
  let replicas = [try await watch(store, derived()), try await watch(store, derived())]
  _ = try await revoke(try #require(store.records.first).keyID, replicas[0])
  let after = try token(replicas[0])
  let looking = replicas[1].start()
  defer { looking.cancel() }
  while !isValid(after, replicas[1]) { try await Task.sleep(for: .milliseconds(50)) }
  #expect(!replicas[1].tokens.takeUnknownKey())
}

@Test(arguments: [true, false])
func `the times of rejection follow from the read interval and the lifetime of caches`(isShared: Bool) async throws {
  let store = SigningKeyStore()
  let replica = try await watch(store, derived(), isShared: isShared)
  let begun = wallMillis()
  let revoked = try await revoke(try #require(store.records.first).keyID, replica)
  let wait = revoked.serversRejectAt.millis - (isShared ? 60_000 : 0)
  #expect(begun...wallMillis() ~= wait)
  #expect(revoked.verifiersRejectAt == revoked.serversRejectAt.adding(millis: 1_800_000))
}

@Test func `a rotation of an administrator returns the new key, and another one changes nothing`() async throws {
  let store = SigningKeyStore()
  let replica = try await watch(store, derived())
  let first = try await replica.rotate(call())
  #expect(first.keys.map(\.state) == [.signing, .waiting] && first.newKeyID == store.records.last?.keyID)
  let second = try await replica.rotate(call())
  #expect(second.newKeyID == nil && second.keys.map(\.keyID) == first.keys.map(\.keyID))
  #expect(store.events.map(\.event) == ["SIGNING_KEY_ROTATED"] && store.events.map(\.caller) == [admin])
  // Its own events name the server, and its first key has none.
  let other = SigningKeyStore()
  await (try await watch(other, derived())).look(.demand)
  #expect(other.events.map(\.caller) == [CallerName("latchkeyd")])
}

@Test func `the events of rotations and revocations name the human and the request`() async throws {
  let store = SigningKeyStore()
  let replica = try await watch(store, derived())
  let first = try #require(store.records.first)
  let origin = [(key: "request_id", value: "r1"), (key: "trace_id", value: "t1")]
  let rotated = try await replica.rotate(call(actor: "ada", origin: origin))
  _ = try await replica.revoke(keyID: first.keyID, call(actor: "ada", origin: origin))
  let rows = store.events.map(\.detailsJSON)
  #expect(rows.count == 2 && rotated.newKeyID != nil)
  #expect(rows.allSatisfy { $0.hasPrefix("{\"actor\":\"ada\",\"key_id\":\"") })
  #expect(rows.allSatisfy { $0.hasSuffix(",\"request_id\":\"r1\",\"trace_id\":\"t1\"}") })
}

@Test func `a revoked key that signs is followed by the key that waits`() async throws {
  let store = SigningKeyStore()
  let replica = try await watch(store, derived())
  let first = try #require(store.records.first)
  let waiting = try #require(try await replica.rotate(call()).newKeyID)
  let revoked = try await revoke(first.keyID, replica)
  #expect(revoked.successorKeyID == waiting && revoked.keys.map(\.state) == [.signing])
  #expect(isValid(try token(replica), replica))
  await replica.look(.look)
  #expect(store.records.map(\.keyID) == [waiting])
}

@Test(arguments: [1, 2, 3])
func `concurrent revocations and rotations on many replicas always leave one key that signs`(round: Int) async throws {
  let store = SigningKeyStore()
  var replicas: [SigningKeyWatch] = []
  for _ in 0..<6 { replicas.append(try await watch(store, derived())) }
  _ = try await replicas[0].rotate(call())
  let known = store.records.map(\.keyID)
  let done = await withTaskGroup(of: Bool.self) { group in
    for (index, replica) in replicas.enumerated() {
      group.addTask {
        guard index < 4 else {
          return (try? await replica.rotate(call())) == nil
        }
        return (try? await revoke(known[index % 2], replica)) != nil
      }
    }
    return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
  }
  #expect(done == 2, "one revocation of each key")
  #expect(store.records.allSatisfy { !known.contains($0.keyID) })
  #expect(try await replicas[0].list().count { $0.state == .signing } == 1)
  #expect(store.events.count { $0.event == "SIGNING_KEY_REVOKED" } == 2)
  for replica in replicas {
    await replica.look(.look)
    #expect(isValid(try token(replica), replicas[0]))
  }
}

@Test func `keys that another master key sealed are listed as unusable`() async throws {
  let (store, other) = (SigningKeyStore(), SigningKeyStore())
  _ = try await watch(other, derived(2))
  let replica = try await watch(store, derived())
  store.poison(try #require(other.records.first), at: now.adding(millis: 400 * day))
  #expect(try await replica.list().map(\.state) == [.signing, .unusable])
  store.isDown.store(true, ordering: .relaxed)
  let failure = await #expect(throws: Identity.Failure.self) { try await replica.list() }
  #expect(failure?.reason == .storeUnavailable)
}
