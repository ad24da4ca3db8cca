import COpenSSL
import Crypto
import Testing

/// Lenient on purpose: the strict decoder belongs to Tokens, which tests it.
func decoded(_ base64url: String) -> [UInt8] {
  let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
  var bits = 0
  var bitCount = 0
  var bytes: [UInt8] = []
  for character in base64url.utf8 {
    bits = (bits << 6 | (alphabet.firstIndex(of: character) ?? 0)) & 0xFFFF
    bitCount += 6
    if bitCount >= 8 {
      bitCount -= 8
      bytes.append(UInt8(truncatingIfNeeded: bits >> bitCount))
    }
  }
  return bytes
}

func hex(_ bytes: [UInt8]) -> String {
  bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

let message = Array("latchkey".utf8)

extension Secret {
  static func random(_ count: Int) -> Secret { Secret(copying: Random.bytes(count)) }
}

struct DigestTests {
  @Test func `the three hash functions return the values of FIPS 180-4 for abc`() {
    let abc = Array("abc".utf8)
    #expect(hex(sha256(abc)) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(
      hex(HashFunction.sha384.digest(abc)) == """
        cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed\
        8086072ba1e7cc2358baeca134c825a7
        """)
    #expect(
      hex(HashFunction.sha512.digest(abc)) == """
        ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
        2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f
        """)
    #expect(hex(sha256([])) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
  }

  @Test(arguments: [0, 1, 63, 64, 65, 1_000])
  func `a digest of parts equals the digest of the whole, however it is cut`(partBytes: Int) {
    let whole = (0..<1_000).map { UInt8(truncatingIfNeeded: $0) }
    let digest = SHA256()
    digest.take([])
    for start in stride(from: 0, to: partBytes == 0 ? 0 : whole.count, by: max(1, partBytes)) {
      digest.take(Array(whole[start..<min(start + partBytes, whole.count)]))
    }
    #expect(digest.value() == sha256(partBytes == 0 ? [] : whole))
  }

  @Test func `a digest made directly equals that of OpenSSL's provider, for every length around a block`() {
    for length in 0...200 {
      let bytes = Random.bytes(length)
      #expect(sha256(bytes) == ForeignDigest.sha256.digest(bytes))
    }
  }

  @Test(arguments: [0, 1, 32, 63, 64, 65, 131])
  func `a kept HMAC key gives the same result as OpenSSL's provider, each time`(keyByteCount: Int) {
    let secret = Secret(copying: Random.bytes(keyByteCount))
    let key = HMACKey(secret)
    for length in [0, 1, 55, 56, 63, 64, 65, 119, 120, 1_000] {
      let bytes = Random.bytes(length)
      let expected = ForeignDigest.sha256.code(key: secret, of: bytes)
      #expect(key.code(of: bytes) == expected)
      #expect(key.code(of: bytes) == expected)
    }
  }

  @Test func `many threads can use one HMAC key at the same time`() async {
    let secret = Secret.random(32)
    let key = HMACKey(secret)
    let right = await withTaskGroup(of: Int.self) { group in
      for task in 0..<8 {
        group.addTask {
          (0..<500).count { number in
            let text = Array("\(task) \(number)".utf8)
            return key.code(of: text) == ForeignDigest.sha256.code(key: secret, of: text)
          }
        }
      }
      return await group.reduce(0, +)
    }
    #expect(right == 4_000)
  }

  @Test func `HMAC-SHA-256 returns the values of RFC 4231, also for a key longer than a block`() {
    let short = hmacSHA256(key: Secret(copying: Array("Jefe".utf8)), Array("what do ya want for nothing?".utf8))
    #expect(hex(short) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    let long = hmacSHA256(
      key: Secret(copying: [UInt8](repeating: 0xAA, count: 131)),
      Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8))
    #expect(hex(long) == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
  }

  @Test func `HMAC-SHA-1 returns the values of RFC 2202, also for a key longer than a block`() {
    let short = hmacSHA1(key: Secret(copying: Array("Jefe".utf8)), Array("what do ya want for nothing?".utf8))
    #expect(hex(short) == "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79")
    let long = hmacSHA1(
      key: Secret(copying: [UInt8](repeating: 0xAA, count: 80)),
      Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8))
    #expect(hex(long) == "aa4ae5e15272d00e95705637ce8a3b55ed402112")
  }

  @Test func `comparison detects a change of any bit and different lengths (check 97)`() {
    let bytes = Random.bytes(32)
    #expect(constantTimeEquals(bytes, bytes))
    #expect(constantTimeEquals([], []))
    #expect(!constantTimeEquals(bytes, Array(bytes.dropLast())))
    for bit in 0..<256 {
      var changed = bytes
      changed[bit / 8] ^= 1 << (bit % 8)
      #expect(!constantTimeEquals(bytes, changed))
    }
  }

  /// Each thread draws 512 bytes in advance. A request for more than a quarter of that gets its own draw.
  @Test func `random bytes have the requested length and are returned only once, for every length`() async {
    #expect(Random.bytes(0).isEmpty)
    let lengths = [16, 1, 32, 127, 128, 129, 48, 511, 512, 513, 28]
    let windows = await withTaskGroup(of: [[UInt8]].self) { group in
      for _ in 0..<8 {
        group.addTask {
          (0..<220).flatMap { turn in
            let bytes = Random.bytes(lengths[turn % lengths.count])
            #expect(bytes.count == lengths[turn % lengths.count])
            return (0..<max(0, bytes.count - 7)).map { Array(bytes[$0..<($0 + 8)]) }
          }
        }
      }
      return await group.reduce(into: []) { $0 += $1 }
    }
    #expect(Set(windows).count == windows.count)
  }
}

struct SecretTests {
  @Test func `a secret shows only its length in every printed form`() {
    let secret = Secret(copying: Array("correct horse".utf8))
    var dumped = ""
    dump(secret, to: &dumped)
    for text in ["\(secret)", String(reflecting: secret), dumped, String(describing: [secret])] {
      #expect(!text.contains("horse"))
      #expect(text.contains("Secret(13 bytes)"))
    }
  }

  @Test func `a secret that must be sent is revealed unchanged`() {
    #expect(Secret(copying: Array("correct horse".utf8)).revealed == "correct horse")
    #expect(Secret(copying: []).revealed == "")
  }
}

struct ErrorQueueTests {
  @Test func `a failed call leaves nothing in the thread's OpenSSL error queue, where libssl would find it`() throws {
    let key = try PrivateKey.generate(.p256)
    let verifier = try key.publicKey()
    ERR_clear_error()
    #expect(!verifier.verify(signature: [UInt8](repeating: 0xFF, count: 64), of: message, .es256))
    #expect(ERR_peek_error() == 0)
    #expect(throws: CryptoError.self) { try PrivateKey(pkcs8: Secret(copying: [1, 2, 3])) }
    #expect(ERR_peek_error() == 0)
    #expect(throws: CryptoError.self) {
      try PublicKey(.ec(.p256, x: [UInt8](repeating: 1, count: 32), y: [UInt8](repeating: 1, count: 32)))
    }
    #expect(ERR_peek_error() == 0)
  }
}
