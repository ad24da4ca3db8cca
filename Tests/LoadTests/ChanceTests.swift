import Testing

@testable import latchkey_load

@Test func `a seed determines the sequence, and another seed gives another one`() {
  func sequence(_ seed: UInt64) -> [UInt64] {
    var generator = SeededGenerator(seed: seed)
    return (0..<8).map { _ in generator.next() }
  }
  #expect(sequence(1) == sequence(1))
  #expect(sequence(1) != sequence(2))
  // The first words of the published algorithm for this seed.
  #expect(sequence(1_234_567).prefix(2) == [6_457_827_717_110_365_317, 3_203_168_211_198_807_973])
}

@Test func `indices are drawn in proportion to their weights`() {
  var generator = SeededGenerator(seed: 7)
  let choice = WeightedChoice([1, 3, 6])
  var drawn = [0, 0, 0]
  for _ in 0..<100_000 { drawn[choice.draw(&generator)] += 1 }
  for (count, expected) in zip(drawn, [10_000, 30_000, 60_000]) { #expect(abs(count - expected) < 1_000) }
}

@Test func `a single choice is always drawn`() {
  var generator = SeededGenerator(seed: 7)
  #expect((0..<100).allSatisfy { _ in WeightedChoice([5]).draw(&generator) == 0 })
}
