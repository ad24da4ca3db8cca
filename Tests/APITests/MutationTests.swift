import Testing

@testable import Protobuf

@Test(arguments: [1, 2, 3, 4] as [UInt64])
func `a damaged message that the scan accepts is unpacked within the budget`(seed: UInt64) throws {
  var random = SeededRandom(state: seed)
  let samples = Samples.all.map { (type: type(of: $0) as any Message.Type, bytes: $0.bare) }
  let arenas = [96, 512, 2048, 8 * 65536].map { Arena(budgetBytes: $0) }
  var acceptedCount = 0
  for _ in 0..<75_000 {
    let sample = samples.randomElement(using: &random)!
    var bytes = sample.bytes
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      mutate(&bytes, samples.randomElement(using: &random)!.bytes, &random)
    }
    if try check(sample.type, bytes, arenas.randomElement(using: &random)!) { acceptedCount += 1 }
  }
  // Some mutations are rejected, and some are accepted.
  #expect((5_000...60_000).contains(acceptedCount), "\(acceptedCount)")
}

/// Whether the bytes are accepted. An accepted value must survive another encoding and decoding. The first encoding
/// drops unknown enum numbers, so the check compares the second one with it.
private func check<M: Message>(_ type: M.Type, _ bytes: [UInt8], _ arena: Arena) throws -> Bool {
  let value: M
  do {
    value = try M.decode(bytes, arena: arena)
  } catch {
    #expect(error != .malformed(.unpack), "\(M.messageName) \(bytes)")
    return false
  }
  let written = value.bare
  #expect(try M.decode(written).bare == written, "\(M.messageName) \(bytes)")
  return true
}

private func mutate(_ bytes: inout [UInt8], _ other: [UInt8], _ random: inout SeededRandom) {
  let at = Int.random(in: 0...bytes.count, using: &random)
  let end = Int.random(in: at...min(bytes.count, at + 12), using: &random)
  switch Int.random(in: 0..<7, using: &random) {
  case 0 where at < bytes.count: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
  case 1 where at < bytes.count: bytes[at] = [0x00, 0x7f, 0x80, 0xff, 0x0a, 0x12].randomElement(using: &random)!
  case 2: bytes.insert(UInt8.random(in: 0...255, using: &random), at: at)
  case 3: bytes.removeSubrange(at..<end)
  case 4: bytes.insert(contentsOf: bytes[at..<end], at: at)
  case 5: bytes.insert(contentsOf: other.prefix(end), at: at)
  default: bytes += bytes.prefix(end)
  }
}
