import Encodings
import Testing

struct Base64URLTests {
  @Test(arguments: [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE")])
  func `The vectors of RFC 4648 10 encode and decode, without padding`(plain: String, encoded: String) {
    #expect(Base64URL.encode(Array(plain.utf8)) == encoded)
    #expect(Base64URL.decode(encoded) == Array(plain.utf8))
  }

  @Test func `Bytes of every value and length survive a round trip in the alphabet for URLs`() {
    #expect(Base64URL.encode([0xFB, 0xFF, 0xBF]) == "-_-_")
    for count in 0..<258 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
      #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
    }
  }

  @Test(arguments: [
    "Zg==", "Zm8=", "Zh", "Zm9", "Z", "Zm9vY", "Zm 9", "Zm9v\n", "+_-_", "-_-/", "Zm9v.", "Zm9vä", "Zm9\u{0}",
  ])
  func `Padding, stray bits, impossible lengths and foreign characters are refused (check 97)`(text: String) {
    #expect(Base64URL.decode(text) == nil)
  }

  @Test func `A foreign byte is rejected at every position`() {
    let text = Array(Base64URL.encode((0..<30).map { UInt8($0 * 7) }).utf8)
    let letters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    for place in text.indices {
      for byte in UInt8.min...UInt8.max where !letters.contains(byte) {
        var wrong = text
        wrong[place] = byte
        #expect(Base64URL.decode(wrong[...]) == nil)
      }
    }
  }

  @Test func `base64url has one text for a sequence of bytes`() throws {
    for count in 0...40 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 89 + 7) }
      let text = Base64URL.encode(bytes)
      #expect(Base64URL.decode(text) == bytes)
      let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
      let same = letters.map { String(text.dropLast()) + "\($0)" }.filter { Base64URL.decode($0) == bytes }
      #expect(count == 0 || same == [text])
    }
    #expect(Base64URL.encode(Array("foobar".utf8)) == "Zm9vYmFy" && Base64URL.encode([0xFB, 0xFF]) == "-_8")
    for text in ["A", "Zm9vYmF=", "Zm9v YmFy", "+_8", "Zm9vYmFyA"] { #expect(Base64URL.decode(text) == nil) }
  }
}

struct Base64Tests {
  @Test func `base64 survives a round trip, with and without padding`() {
    for count in 0..<40 {
      let some = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37) }
      let text = Base64.encode(some)
      #expect(Base64.decode(text) == some)
      let padded = text + [UInt8](repeating: UInt8(ascii: "="), count: (4 - text.count % 4) % 4)
      #expect(Base64.decode(padded) == some)
    }
    for wrong in ["a", "ab=", "a*bc", "abc==", "ab cd"] { #expect(Base64.decode(Array(wrong.utf8)) == nil) }
  }

  @Test(arguments: ["Zh", "Zh==", "Zi", "Zv=="])
  func `base64 ignores unused bits in the last character`(text: String) {
    #expect(Base64.decode(Array(text.utf8)) == Array("f".utf8))
  }

  @Test func `base64 with a byte outside ASCII is rejected`() {
    for byte in UInt8(0x80)...UInt8.max {
      for place in 0..<4 {
        var text = Array("Zm9v".utf8)
        text[place] = byte
        #expect(Base64.decode(text) == nil)
      }
    }
  }

  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ("foobar", "Zm9vYmFy"),
  ])
  func `Base64 matches the vectors of RFC 4648, 10`(text: String, encoded: String) {
    #expect(Base64.padded(Array(text.utf8)) == encoded)
  }

  @Test func `Base64 uses the standard alphabet, not the one for URLs`() {
    #expect(Base64.padded([0xFB, 0xEF, 0xFF]) == "++//")
  }
}
