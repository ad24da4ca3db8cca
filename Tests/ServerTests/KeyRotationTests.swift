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
func `a store without a key gets one that signs at once, since nothing else can`(occasion: KeyRotation.Occasion) {
  #expect(decide([], occasion) == KeyRotation(successorFrom: now))
}

@Test(arguments: [KeyRotation.Occasion.start, .look])
func `a key that is young enough goes on signing`(occasion: KeyRotation.Occasion) {
  #expect(decide([key("a", activeFrom: -90 * day + 1)], occasion) == KeyRotation())
}

@Test(arguments: [KeyRotation.Occasion.start, .look])
func `check 101: a key that has signed for its time is followed by one that is published before it signs`(
  occasion: KeyRotation.Occasion
) {
  let lead = now.adding(millis: 3_600_000)
  #expect(decide([key("a", activeFrom: -90 * day)], occasion) == KeyRotation(successorFrom: lead, retired: ["a"]))
}

@Test func `a key that is on its way is waited for, whoever asks and however old the one before it is`() {
  let records = [key("a", activeFrom: -200 * day, retiredAt: 1), key("b", activeFrom: 1)]
  for occasion in [KeyRotation.Occasion.start, .look, .demand] { #expect(decide(records, occasion) == KeyRotation()) }
}

@Test func `who asks for a new key gets one, whatever the age of the one that signs`() {
  let lead = now.adding(millis: 3_600_000)
  #expect(decide([key("a", activeFrom: 0)], .demand) == KeyRotation(successorFrom: lead, retired: ["a"]))
}

@Test func `without an age keys are replaced only where somebody asks`() {
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

@Test func `two replicas of different configuration do not replace each other's keys for ever`() {
  #expect(decide([key("a", activeFrom: -day)], .look, algorithm: "EdDSA") == KeyRotation())
}

@Test func `a key of another algorithm that is on its way is overtaken, and both stop at the same moment`() {
  let records = [key("a", activeFrom: -day, retiredAt: 5), key("b", activeFrom: 5)]
  let rotation = decide(records, .start, algorithm: "EdDSA")
  #expect(rotation == KeyRotation(successorFrom: now.adding(millis: 3_600_000), retired: ["b"]))
}

@Test func `of several keys that sign, such as of two first starts, all are replaced`() {
  let records = [key("a", activeFrom: -91 * day), key("b", activeFrom: -90 * day)]
  #expect(decide(records).retired == ["a", "b"])
}

@Test func `check 101: a retired key stays until the last token that it signed has expired, and not longer`() {
  let kept = policy().keptMillis
  #expect(kept == 3_600_000 + 60_000)
  let needed = [key("a", activeFrom: -day, retiredAt: -kept + 1), key("b", activeFrom: -1)]
  #expect(decide(needed) == KeyRotation())
  let needless = [key("a", activeFrom: -day, retiredAt: -kept), key("b", activeFrom: -1)]
  #expect(decide(needless) == KeyRotation(removesRetiredBy: now.adding(millis: -kept)))
}

@Test func `a key is replaced and an older one removed by one change, where both are due`() throws {
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

@Test func `a first key is made only where there still is none, and a successor where the one before it still signs`() {
  let first = key("a", activeFrom: 0)
  #expect(decide([]).change(first) == Change([.signingKey(.requireNone), .signingKey(.insert(first))]))
  let rotation = decide([key("a", activeFrom: -90 * day)])
  #expect(rotation.change(key("b", activeFrom: 1))?.writes.contains(.signingKey(.requireNone)) == false)
}

@Test(arguments: [KeyRotation.Occasion.start, .look, .demand])
func `a key that cannot be opened here is followed at once by one that can, where none of ours is left`(
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

@Test func `a key that cannot be opened here beside one of ours that signs on changes nothing`() {
  let records = [key("a", activeFrom: -day), key("b", activeFrom: -90 * day)]
  #expect(
    KeyRotation.decide(records, foreign: ["b"], algorithm: "ES256", .look, policy(), now: now) == KeyRotation())
}

@Test(arguments: [KeyRotation.Occasion.start, .look, .demand])
func `a key that a clock ahead has put off is joined by one that signs at once, where no other does`(
  occasion: KeyRotation.Occasion
) throws {
  let filled = KeyRotation(successorFrom: now, fillsGap: true)
  for away in [1_001, day, 4_000 * day] { #expect(decide([key("a", activeFrom: away)], occasion) == filled) }
  let successor = key("b", activeFrom: 0)
  #expect(filled.change(successor) == Change([.signingKey(.insert(successor))]))
  #expect(decide([successor, key("a", activeFrom: 4_000 * day)]) == KeyRotation())
}

@Test func `a retired key is not removed while no other one signs, such as where a clock ahead has retired it`() {
  let kept = policy().keptMillis
  let records = [key("a", activeFrom: -day, retiredAt: -kept), key("b", activeFrom: 100 * day)]
  #expect(decide(records) == KeyRotation(successorFrom: now, fillsGap: true))
  #expect(
    decide(records + [key("c", activeFrom: 0)]) == KeyRotation(removesRetiredBy: now.adding(millis: -kept)))
}

@Test func `a key that is further away than any is published ahead gets one before it, which is published as ever`() {
  let lead = now.adding(millis: 3_600_000)
  let records = [key("a", activeFrom: -day, retiredAt: 100 * day), key("b", activeFrom: 100 * day)]
  #expect(decide(records) == KeyRotation(successorFrom: lead, fillsGap: true))
  #expect(decide(records + [key("c", activeFrom: 3_600_000)], .demand) == KeyRotation())
  let published = [key("a", activeFrom: -day, retiredAt: 7 * day), key("b", activeFrom: 7 * day)]
  #expect(decide(published) == KeyRotation())
  #expect(decide(published, .demand) == KeyRotation(successorFrom: lead, retired: ["b"]))
}

@Test func `a key in the far future holds up no rotation, which retires it with the one that signs`() {
  let lead = now.adding(millis: 3_600_000)
  let records = [key("a", activeFrom: -90 * day), key("b", activeFrom: 100 * day)]
  #expect(decide(records) == KeyRotation(successorFrom: lead, retired: ["a", "b"]))
}

@Test func `nothing to do is no change`() {
  #expect(KeyRotation().change(nil) == nil)
}

@Test(arguments: [4_000, 60_000, 240_000, 3_600_000, 604_800_000] as [Int64])
func `a verifier that fetched the keys from the last replica to hear of a new one has it before it signs`(lead: Int64) {
  let policy = policy { $0.publishLeadMillis = lead }
  #expect(policy.readMillis >= 1_000 && policy.readMillis <= 60_000)
  #expect(policy.readMillis + policy.cacheMillis <= lead * 3 / 4)
}
