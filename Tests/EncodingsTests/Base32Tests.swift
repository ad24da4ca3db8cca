import Encodings
import Testing

struct Base32Tests {
  @Test(arguments: [
    ("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("fooba", "MZXW6YTB"),
    ("foobar", "MZXW6YTBOI"),
  ])
  func `The vectors of RFC 4648 10 for base32 encode, without padding`(plain: String, encoded: String) {
    #expect(Base32.encode(Array(plain.utf8)) == encoded)
    #expect(Base32.decode(encoded) == Array(plain.utf8))
  }

  @Test(arguments: ["MY======", "my", "M", "MZX", "MZXW6Y", "MZ", "M0", "M1", "M8", "M ", "MÉ"])
  func `Text that is not canonical base32 is rejected`(text: String) {
    #expect(Base32.decode(text) == nil)
  }
}
