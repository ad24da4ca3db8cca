import Crypto
import Identity
import Store
import Testing

@testable import Server

private func keys(_ byte: UInt8 = 1) throws -> DerivedKeys {
  try DerivedKeys(masterKey: Secret(copying: [UInt8](repeating: byte, count: 32)))
}

private let token = [UInt8](repeating: 9, count: 32)

@Test func `each purpose has a key of its own`() throws {
  let keys = try keys()
  let master = Secret(copying: [UInt8](repeating: 1, count: 32))
  let input = token + Array("family".utf8)
  let values = [
    keys.successor(of: token, family: "family"), keys.refreshTag(of: token, family: "family"),
    hmacSHA256(key: Secret(copying: keys.idempotency), input), hmacSHA256(key: master, input),
  ]
  #expect(Set(values).count == values.count)
  #expect(values.allSatisfy { $0.count == 32 })
}

@Test func `derived values depend only on the master key, the token and the family`() throws {
  let (one, replica, other) = (try keys(), try keys(), try keys(2))
  #expect(one.idempotency == replica.idempotency && one.idempotency != other.idempotency)
  for derive in [DerivedKeys.successor, DerivedKeys.refreshTag] {
    let values = [derive(one)(token, "a"), derive(one)(token, "b"), derive(one)([], "a"), derive(other)(token, "a")]
    #expect(Set(values).count == values.count)
    #expect(derive(replica)(token, "a") == values[0])
  }
}

@Test func `a sealed value opens on every replica, in its own context only`() throws {
  let sealed = try keys().seal(Array("assertion".utf8), context: Array("row 1".utf8))
  #expect(try keys().open(sealed, context: Array("row 1".utf8)) == Array("assertion".utf8))
  #expect(try keys().open(sealed, context: Array("row 2".utf8)) == nil)
  #expect(try keys(2).open(sealed, context: Array("row 1".utf8)) == nil)
  for index in sealed.indices {
    var changed = sealed
    changed[index] ^= 1
    #expect(try keys().open(changed, context: Array("row 1".utf8)) == nil)
  }
  #expect(try keys().open(Array(sealed.dropLast()), context: Array("row 1".utf8)) == nil)
}

@Test func `a sealed value does not reveal its text, and no two are equal`() throws {
  let text = [UInt8](repeating: 0x41, count: 64)
  let seals = try (0..<8).map { _ in try keys().seal(text, context: []) }
  #expect(Set(seals).count == seals.count)
  #expect(seals.allSatisfy { !String(decoding: $0, as: UTF8.self).contains("AAAA") })
}

@Test func `byte arrays are equal only if all their bytes are`() throws {
  let keys = try keys()
  #expect(keys.equal([1, 2], [1, 2]) && keys.equal([], []))
  #expect(!keys.equal([1, 2], [1, 3]) && !keys.equal([1, 2], [1]) && !keys.equal([], [0]))
  #expect(keys.sha256([]) == Digest(sha256([])))
}
