import Crypto
import Identity
import Store
import Testing

@testable import Server

private func keys(_ byte: UInt8 = 1) throws -> DerivedKeys {
  try DerivedKeys(masterKeys: [Secret(copying: [UInt8](repeating: byte, count: 32))])
}

private let token = [UInt8](repeating: 9, count: 32)

@Test func `each purpose has a key of its own`() throws {
  let keys = try keys()
  let master = Secret(copying: [UInt8](repeating: 1, count: 32))
  let input = token + Array("family".utf8)
  let values = [
    keys.successor(of: token, family: "family", masterKey: 0),
    keys.refreshTag(of: token, family: "family", masterKey: 0),
    hmacSHA256(key: Secret(copying: keys.idempotency[0]), input), hmacSHA256(key: master, input),
  ]
  #expect(Set(values).count == values.count)
  #expect(values.allSatisfy { $0.count == 32 })
}

@Test func `derived values depend only on the master key, the token and the family`() throws {
  let (one, replica, other) = (try keys(), try keys(), try keys(2))
  #expect(one.idempotency == replica.idempotency && one.idempotency != other.idempotency)
  for derive in [DerivedKeys.successor, DerivedKeys.refreshTag] {
    let values = [
      derive(one)(token, "a", 0), derive(one)(token, "b", 0), derive(one)([], "a", 0), derive(other)(token, "a", 0),
    ]
    #expect(Set(values).count == values.count)
    #expect(derive(replica)(token, "a", 0) == values[0])
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

@Test func `with several master keys, the first seals and derives, and all open`() throws {
  let secrets = [1, 2].map { Secret(copying: [UInt8](repeating: $0, count: 32)) }
  let both = try DerivedKeys(masterKeys: secrets)
  let (one, two) = (try keys(1), try keys(2))
  #expect(both.masterKeyCount == 2 && both.masterKeyIDs == one.masterKeyIDs + two.masterKeyIDs)
  #expect(both.masterKeyIDs[0].text.count == 8 && one.masterKeyIDs != two.masterKeyIDs)
  let sealed = both.seal(Array("row".utf8), context: [7])
  #expect(MasterKeyID(bytes: sealed) == both.masterKeyIDs[0])
  #expect(one.open(sealed, context: [7]) != nil && two.open(sealed, context: [7]) == nil)
  #expect(both.open(two.seal(Array("row".utf8), context: [7]), context: [7]) == Array("row".utf8))
  for (index, single) in [one, two].enumerated() {
    #expect(both.idempotency[index] == single.idempotency[0])
    #expect(both.throttleKey(token, masterKey: index) == single.throttleKey(token, masterKey: 0))
    for derive in [DerivedKeys.successor, DerivedKeys.refreshTag] {
      #expect(derive(both)(token, "a", index) == derive(single)(token, "a", 0))
    }
  }
  #expect(both.keyedDigest(token, purpose: "p") == one.keyedDigest(token, purpose: "p"))
}

@Test func `two equal master keys are refused`() {
  let secret = Secret(copying: [UInt8](repeating: 1, count: 32))
  #expect(throws: CryptoError.unusableSealingKeys) { try DerivedKeys(masterKeys: [secret, secret]) }
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
