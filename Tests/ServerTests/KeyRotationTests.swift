import Store
import Testing

@testable import Configuration
@testable import Server

private let now = Timestamp(millis: 1_800_000_000_000)
private let day: Int64 = 86_400_000

private func policy(_ change: (inout KeyPolicy) -> Void = { _ in }) -> KeyPolicy {
  var policy = KeyPolicy()
  change(&policy)
  return policy
}

private func key(
  _ keyID: String, _ algorithm: String = "ES256", activeFrom: Int64, retiredAt: Int64? = nil
) -> SigningKeyRecord {
  SigningKeyRecord(
    keyID: keyID, algorithm: algorithm, sealedPrivateKey: [], publishedAt: now.adding(millis: activeFrom - 1),
    activeFrom: now.adding(millis: activeFrom), retiredAt: retiredAt.map { now.adding(millis: $0) })
}

private func decide(
  _ records: [SigningKeyRecord], _ occasion: KeyRotation.Occasion = .look, _ policy: KeyPolicy = policy(),
  algorithm: String = "ES256"
) -> KeyRotation {
  KeyRotation.decide(records, algorithm: algorithm, occasion, policy, now: now)
}

@Test(arguments: [KeyRotation.Occasion.start, .look, .demand])
func `a store without a key gets one that signs immediately`(occasion: KeyRotation.Occasion) {
  #expect(decide([], occasion) == KeyRotation(successorFrom: now))
}

@Test(arguments: [KeyRotation.Occasion.start, .look])
func `a key that is young enough continues to sign`(occasion: KeyRotation.Occasion) {
  #expect(decide([key("a", activeFrom: -90 * day + 1)], occasion) == KeyRotation())
}

@Test(arguments: [KeyRotation.Occasion.start, .look])
func `check 101: a key at its maximum age gets a successor that is published before it signs`(
  occasion: KeyRotation.Occasion
) {
  let lead = now.adding(millis: 3_600_000)
  #expect(decide([key("a", activeFrom: -90 * day)], occasion) == KeyRotation(successorFrom: lead, retired: ["a"]))
}

@Test func `a pending successor prevents another one, at every occasion and age`() {
  let records = [key("a", activeFrom: -200 * day, retiredAt: 1), key("b", activeFrom: 1)]
  for occasion in [KeyRotation.Occasion.start, .look, .demand] { #expect(decide(records, occasion) == KeyRotation()) }
}

@Test func `a request for a new key creates one, whatever the age of the current one`() {
  let lead = now.adding(millis: 3_600_000)
  #expect(decide([key("a", activeFrom: 0)], .demand) == KeyRotation(successorFrom: lead, retired: ["a"]))
}

@Test func `without a maximum age keys are replaced only on request`() {
  let never = policy { $0.rotateMillis = nil }
  let old = [key("a", activeFrom: -4_000 * day)]
  #expect(decide(old, .look, never) == KeyRotation())
  #expect(decide(old, .demand, never).retired == ["a"])
}

@Test func `another algorithm in the configuration replaces the key at a start, after the lead`() {
  let lead = now.adding(millis: 3_600_000)
  let records = [key("a", activeFrom: -day)]
  #expect(decide(records, .start, algorithm: "EdDSA") == KeyRotation(successorFrom: lead, retired: ["a"]))
}

@Test func `two replicas with different configurations do not keep replacing each other's keys`() {
  #expect(decide([key("a", activeFrom: -day)], .look, algorithm: "EdDSA") == KeyRotation())
}

@Test func `a pending key of another algorithm is replaced at the same time as the current key`() {
  let records = [key("a", activeFrom: -day, retiredAt: 5), key("b", activeFrom: 5)]
  let rotation = decide(records, .start, algorithm: "EdDSA")
  #expect(rotation == KeyRotation(successorFrom: now.adding(millis: 3_600_000), retired: ["b"]))
}

@Test func `several active keys, such as of two first starts, are all replaced`() {
  let records = [key("a", activeFrom: -91 * day), key("b", activeFrom: -90 * day)]
  #expect(decide(records).retired == ["a", "b"])
}

@Test func `check 101: a retired key stays exactly until the last token that it signed has expired`() {
  let kept = policy().keptMillis
  #expect(kept == 3_600_000 + 60_000)
  let needed = [key("a", activeFrom: -day, retiredAt: -kept + 1), key("b", activeFrom: -1)]
  #expect(decide(needed) == KeyRotation())
  let needless = [key("a", activeFrom: -day, retiredAt: -kept), key("b", activeFrom: -1)]
  #expect(decide(needless) == KeyRotation(removesRetiredBy: now.adding(millis: -kept)))
}

@Test func `one change replaces a key and removes an older one, if both are due`() throws {
  let records = [key("a", activeFrom: -200 * day, retiredAt: -90 * day), key("b", activeFrom: -90 * day)]
  let rotation = decide(records)
  let successor = key("c", activeFrom: 3_600_000)
  let from = try #require(rotation.successorFrom)
  let removed = try #require(rotation.removesRetiredBy)
  #expect(
    rotation.change(successor)
      == Change([
        .signingKey(.retire(keyID: "b", at: from)), .signingKey(.insert(successor)),
        .signingKey(.delete(retiredBy: removed)),
      ]))
}

@Test func `a first key requires that there is none, and a successor that its predecessor still signs`() {
  let first = key("a", activeFrom: 0)
  #expect(decide([]).change(first) == Change([.signingKey(.requireNone), .signingKey(.insert(first))]))
  let rotation = decide([key("a", activeFrom: -90 * day)])
  #expect(rotation.change(key("b", activeFrom: 1))?.writes.contains(.signingKey(.requireNone)) == false)
}

@Test(arguments: [KeyRotation.Occasion.start, .look, .demand])
func `a key that cannot be opened gets a successor immediately, if no own key is left`(
  occasion: KeyRotation.Occasion
) {
  func decided(_ records: [SigningKeyRecord]) -> KeyRotation {
    KeyRotation.decide(records, foreign: ["b"], algorithm: "ES256", occasion, policy(), now: now)
  }
  let soon = decided([key("a", activeFrom: -day, retiredAt: 5), key("b", activeFrom: 5)])
  #expect(soon == KeyRotation(successorFrom: now.adding(millis: 5), retired: ["b"]))
  let late = decided([key("a", activeFrom: -day, retiredAt: -5), key("b", activeFrom: -5)])
  #expect(late == KeyRotation(successorFrom: now, retired: ["b"]))
}

@Test func `a key that cannot be opened changes nothing if an own key still signs`() {
  let records = [key("a", activeFrom: -day), key("b", activeFrom: -90 * day)]
  #expect(
    KeyRotation.decide(records, foreign: ["b"], algorithm: "ES256", .look, policy(), now: now) == KeyRotation())
}

@Test(arguments: [KeyRotation.Occasion.start, .look, .demand])
func `a key that a clock ahead has delayed gets another that signs immediately, if none does`(
  occasion: KeyRotation.Occasion
) throws {
  let filled = KeyRotation(successorFrom: now, fillsGap: true)
  for away in [1_001, day, 4_000 * day] { #expect(decide([key("a", activeFrom: away)], occasion) == filled) }
  let successor = key("b", activeFrom: 0)
  #expect(filled.change(successor) == Change([.signingKey(.insert(successor))]))
  #expect(decide([successor, key("a", activeFrom: 4_000 * day)]) == KeyRotation())
}

@Test func `a retired key is not removed while no other one signs, such as after a clock that was ahead`() {
  let kept = policy().keptMillis
  let records = [key("a", activeFrom: -day, retiredAt: -kept), key("b", activeFrom: 100 * day)]
  #expect(decide(records) == KeyRotation(successorFrom: now, fillsGap: true))
  #expect(
    decide(records + [key("c", activeFrom: 0)]) == KeyRotation(removesRetiredBy: now.adding(millis: -kept)))
}

@Test func `a key further in the future than the lead gets one before it, with the usual lead`() {
  let lead = now.adding(millis: 3_600_000)
  let records = [key("a", activeFrom: -day, retiredAt: 100 * day), key("b", activeFrom: 100 * day)]
  #expect(decide(records) == KeyRotation(successorFrom: lead, fillsGap: true))
  #expect(decide(records + [key("c", activeFrom: 3_600_000)], .demand) == KeyRotation())
  let published = [key("a", activeFrom: -day, retiredAt: 7 * day), key("b", activeFrom: 7 * day)]
  #expect(decide(published) == KeyRotation())
  #expect(decide(published, .demand) == KeyRotation(successorFrom: lead, retired: ["b"]))
}

@Test func `a key in the far future does not delay a rotation, which retires it with the current one`() {
  let lead = now.adding(millis: 3_600_000)
  let records = [key("a", activeFrom: -90 * day), key("b", activeFrom: 100 * day)]
  #expect(decide(records) == KeyRotation(successorFrom: lead, retired: ["a", "b"]))
}

@Test func `a rotation without a reason makes no change`() {
  #expect(KeyRotation().change(nil) == nil)
}

@Test(arguments: [4_000, 60_000, 240_000, 3_600_000, 604_800_000] as [Int64])
func `a verifier that caches the keys of the slowest replica has a new key before it signs`(lead: Int64) {
  let policy = policy { $0.publishLeadMillis = lead }
  #expect(policy.readMillis >= 1_000 && policy.readMillis <= 60_000)
  #expect(policy.readMillis + policy.cacheMillis <= lead * 3 / 4)
}
