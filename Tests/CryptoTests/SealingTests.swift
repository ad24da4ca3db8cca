import Crypto
import Testing

struct SealingTests {
  let keys: SealingKeys
  let context = Array("pending row 7".utf8)

  init() throws {
    keys = try SealingKeys([.random(SealingKeys.keyByteCount)])
  }

  @Test func `a sealed value opens to the same bytes under the same context, also an empty one`() throws {
    for count in [0, 1, 15, 16, 17, 4_096] {
      let plaintext = Random.bytes(count)
      let sealed = keys.seal(plaintext, context: context)
      #expect(sealed.count == count + SealingKeys.overheadByteCount)
      #expect(try keys.open(sealed, context: context) == plaintext)
    }
    #expect(try keys.open(keys.seal([], context: []), context: []).isEmpty)
  }

  @Test func `a sealed value moved to another row or purpose does not open`() {
    let sealed = keys.seal(message, context: context)
    #expect(throws: CryptoError.notSealedByUs) { try keys.open(sealed, context: Array("pending row 8".utf8)) }
    #expect(throws: CryptoError.notSealedByUs) { try keys.open(sealed, context: []) }
  }

  @Test func `no single changed, missing or added byte is accepted`() {
    let sealed = keys.seal(message, context: context)
    for index in sealed.indices {
      var changed = sealed
      changed[index] ^= 1
      #expect(throws: CryptoError.notSealedByUs) { try keys.open(changed, context: context) }
      #expect(throws: CryptoError.notSealedByUs) { try keys.open(Array(sealed.prefix(index)), context: context) }
    }
    #expect(throws: CryptoError.notSealedByUs) { try keys.open(sealed + [0], context: context) }
  }

  @Test func `sealing twice gives different bytes, and neither shows the plaintext (check 17)`() {
    let plaintext = Array("ya29.an-access-token".utf8)
    let first = keys.seal(plaintext, context: context)
    let second = keys.seal(plaintext, context: context)
    #expect(first != second)
    #expect(first.firstRange(of: plaintext) == nil)
  }

  @Test func `after a rotation the new key seals, and the old one still opens until it is removed`() throws {
    let old = Secret.random(32)
    let new = Secret.random(32)
    let before = try SealingKeys([old])
    let after = try SealingKeys([new, old])
    let sealedBefore = before.seal(message, context: context)
    #expect(try after.open(sealedBefore, context: context) == message)
    let sealedAfter = after.seal(message, context: context)
    #expect(throws: CryptoError.notSealedByUs) { try before.open(sealedAfter, context: context) }
    let withoutOld = try SealingKeys([new])
    #expect(try withoutOld.open(sealedAfter, context: context) == message)
    #expect(throws: CryptoError.notSealedByUs) { try withoutOld.open(sealedBefore, context: context) }
  }

  @Test func `keys of a wrong length, duplicate keys and an empty list are rejected at the start`() {
    let key = Secret.random(32)
    for secrets in [[], [Secret.random(31)], [Secret.random(33)], [key, key], [key, Secret.random(16)]] {
      #expect(throws: CryptoError.unusableSealingKeys) { try SealingKeys(secrets) }
    }
  }

  @Test func `a signing key sealed at rest comes back as the same key, and opens nowhere else`() throws {
    let key = try PrivateKey.generate(.p256)
    let sealed = keys.seal(try key.pkcs8(), context: context)
    let back = try PrivateKey(pkcs8: keys.openSecret(sealed, context: context))
    #expect(back.components == key.components)
    #expect(throws: CryptoError.notSealedByUs) { try keys.openSecret(sealed, context: []) }
  }
}
