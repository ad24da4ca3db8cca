import Encodings
import Testing

struct HexadecimalTests {
  @Test func `hexadecimal is read in both cases, and other text is rejected`() {
    #expect(Hexadecimal.decode("") == [])
    #expect(Hexadecimal.decode("00ff7FaB") == [0x00, 0xff, 0x7f, 0xab])
    for odd in ["0", "abc", "0g", "g0", " 00", "00 ", "0x00", "００", "-1", "+f", "0\0"] {
      #expect(Hexadecimal.decode(odd) == nil)
    }
  }

  @Test func `hexadecimal is written in lower case`() {
    #expect(Hexadecimal.encode([0x00, 0xFF, 0x7F, 0xAB]) == Array("00ff7fab".utf8))
    #expect(Hexadecimal.encode([]) == [])
  }
}

struct FormTests {
  @Test func `the pairs of a form are returned in order, decoded, including duplicates`() throws {
    let pairs = try #require(FormEncoding.pairs(Array("code=a%2Fb+c%C3%a9&code=&empty&eq==&&=v".utf8)[...]))
    #expect(pairs.map(\.name) == ["code", "code", "empty", "eq", ""])
    #expect(pairs.map(\.value) == ["a/b cé", "", "", "=", "v"])
  }

  @Test(arguments: ["a=%", "a=%4", "a=%GG", "%zz=1", "a=%FF", "a=%C3", "a=%+1"])
  func `a form with a broken escape or invalid UTF-8 is rejected`(form: String) {
    #expect(FormEncoding.pairs(Array(form.utf8)[...]) == nil)
  }
}
