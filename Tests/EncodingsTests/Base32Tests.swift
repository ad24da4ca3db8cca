import Encodings
import Testing

struct Base32Tests {
  @Test(arguments: [
    ("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("fooba", "MZXW6YTB"),
    ("foobar", "MZXW6YTBOI"),
  ])
  func `The vectors of RFC 4648 10 for base32 encode, without padding`(plain: String, encoded: String) {
    #expect(Base32.encode(Array(plain.utf8)) == encoded)
  }
}
