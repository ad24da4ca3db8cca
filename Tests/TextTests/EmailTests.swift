import Testing
import Text

struct EmailTests {
  @Test(arguments: [
    ("ada@example.com", "ada@example.com"),
    ("first.last+tag!#$%&'*/=?^_`{|}~-@sub.example.co.uk", "first.last+tag!#$%&'*/=?^_`{|}~-@sub.example.co.uk"),
    ("a@1a.com", "a@1a.com"), ("a@163.com", "a@163.com"), ("a@my--domain.com", "a@my--domain.com"),
  ])
  func `an address in its canonical spelling does not change`(address: String, expected: String) throws {
    #expect(try normaliseEmail(address) == expected)
  }

  @Test func `different case is the same address (check 24)`() throws {
    #expect(try normaliseEmail("Ada.Lovelace@EXAMPLE.Com") == "ada.lovelace@example.com")
    #expect(try normaliseEmail("ÅSA@example.com") == "åsa@example.com")
    #expect(try normaliseEmail("asa@MÜNCHEN.example") == "asa@xn--mnchen-3ya.example")
  }

  @Test func `a trailing dot of the domain is dropped, a second one is refused (check 24)`() throws {
    #expect(try normaliseEmail("ada@example.com.") == "ada@example.com")
    #expect(try normaliseEmail("ada@münchen.example.") == "ada@xn--mnchen-3ya.example")
    #expect(throws: TextError.invalidEmail(.domain)) { try normaliseEmail("ada@example.com..") }
  }

  @Test func `any space around the address is trimmed, and space inside it is rejected (check 24)`() throws {
    #expect(try normaliseEmail(" ada@example.com\r\n") == "ada@example.com")
    #expect(try normaliseEmail("\u{3000}\u{00A0}ada@example.com\u{2003}\u{85}") == "ada@example.com")
    #expect(throws: TextError.invalidEmail(.localPart)) { try normaliseEmail("ada b@example.com") }
    #expect(throws: TextError.invalidEmail(.localPart)) { try normaliseEmail("ada @example.com") }
    #expect(throws: TextError.invalidEmail(.domain)) { try normaliseEmail("ada@ example.com") }
    #expect(throws: TextError.invalidEmail(.domain)) { try normaliseEmail("ada@exam\u{1680}ple.com") }
  }

  @Test(arguments: [
    "ada＠example.com", "ada@example．com", "ａda@example.com", "ada@ｅxample.com", "ﬁn@example.com", "ada²@example.com",
    "ada@example。com\u{FF61}", "ada\u{00A0}b@example.com", "ⅷ@example.com", "ſ@example.com", "ada﹫example.com",
  ])
  func `a full-width at sign or any other compatibility character is refused (check 24)`(address: String) {
    #expect(throws: TextError.invalidEmail(.compatibilityCharacter)) { try normaliseEmail(address) }
  }

  @Test func `look-alikes of another script do not match (check 24)`() throws {
    let latin = try normaliseEmail("paypal@example.com")
    let cyrillic = try normaliseEmail("p\u{0430}yp\u{0430}l@example.com")
    #expect(latin != cyrillic)
    #expect(try normaliseEmail("a@p\u{0430}ypal.com") == "a@xn--pypal-4ve.com")
    #expect(throws: TextError.invalidEmail(.domain)) { try normaliseEmail("ada@例え。jp") }
  }

  @Test func `composed and decomposed spellings of one address are one address (check 24)`() throws {
    let composed = try normaliseEmail("am\u{00E9}lie@caf\u{00E9}.example")
    #expect(try normaliseEmail("ame\u{0301}lie@cafe\u{0301}.example") == composed)
    #expect(Array(composed.utf8) == Array("am\u{00E9}lie@xn--caf-dma.example".utf8))
    // There is a composed small j with caron but no capital one, so composition is only possible in lower case.
    #expect(Array(try normaliseEmail("J\u{030C}@example.com").utf8) == Array("\u{01F0}@example.com".utf8))
    // The Kelvin sign is canonically equivalent to the letter K.
    #expect(try normaliseEmail("\u{212A}@example.com") == "k@example.com")
  }

  @Test func `a domain has one spelling, whether it comes as U-labels or A-labels (RFC 5891)`() throws {
    for address in ["a@münchen.example", "a@xn--mnchen-3ya.example", "a@XN--MNCHEN-3YA.example"] {
      #expect(try normaliseEmail(address) == "a@xn--mnchen-3ya.example")
    }
    #expect(try normaliseEmail("a@straße.example") == "a@xn--strae-oqa.example")
    #expect(try normaliseEmail("a@例え.jp") == "a@xn--r8jz45g.jp")
  }

  @Test(arguments: [
    "a@xn--bogus.example", "a@xn--a.example", "a@xn--abc-.example", "a@xn--.example", "a@👍.example",
    "a@xn--yp8h.example", "a@-ü.example", "a@ü-.example", "a@xn----eha.example", "a@ü_b.example", "a@ex\u{200B}.com",
    "a@ex\u{00AD}ample.com", "a@a\u{200D}b.com", "a@\u{0301}a.example", "a@l·a.example", "a@אa.example",
    "a@ü\u{0}.example",
  ])
  func `a label that IDNA2008 does not allow is rejected, also in its encoded form`(address: String) {
    #expect(throws: TextError.invalidEmail(.domain)) { try normaliseEmail(address) }
  }

  @Test(arguments: [
    "", "   ", "ada", "ada.example.com", "a@b@example.com", "a@example.com@", "@@", "ä@b@example.com", "ä",
    "\"a@b\"@example.com", "a@xn--a@example.com",
  ])
  func `an address has exactly one at sign`(address: String) {
    #expect(throws: TextError.invalidEmail(.notOneAtSign)) { try normaliseEmail(address) }
  }

  @Test(arguments: [
    "@example.com", ".a@example.com", "a.@example.com", "a..b@example.com", "\"a b\"@example.com", "a(b)@example.com",
    "<a@example.com", "a,b@example.com", "a:b@example.com", "a\\b@example.com", "a\u{0}b@example.com",
    "a\u{7F}b@example.com", "a\tb@example.com", "Ä..b@example.com", "a\u{200B}b@example.com",
    "a\u{202E}b@example.com", "a\u{00AD}b@example.com", "a\u{FEFF}b@example.com", "a\u{E000}b@example.com",
    "a\u{0085}b@example.com", "a\u{2028}b@example.com", "a\u{E0041}b@example.com", "a\u{FE0F}b@example.com",
    "a\u{115F}b@example.com",
  ])
  func `a local part is a dot-atom of visible characters, never quoted`(address: String) {
    #expect(throws: TextError.invalidEmail(.localPart)) { try normaliseEmail(address) }
  }

  @Test(arguments: [
    ("\u{105C9}@example.com", "\u{105D2}\u{307}@example.com"),
    ("\u{16121}@example.com", "\u{1611E}\u{1611E}@example.com"),
  ])
  func `two spellings of a newer letter are one address, or none until the normal form is known`(
    composed: String, decomposed: String
  ) {
    let addresses = [composed, decomposed].map { try? normaliseEmail($0).utf8.map(\.self) }
    #expect(addresses[0] == addresses[1])
  }

  @Test(arguments: ["a@example.com", "x\u{0D4E}@example.com", "x\u{111C2}@example.com"])
  func `the domain is found after a letter that forms one character with the at sign`(address: String) throws {
    #expect(try emailDomain(normaliseEmail(address)) == "example.com")
    #expect(emailDomain("example.com").isEmpty)
  }

  @Test(arguments: ["a..b@docomo.ne.jp", "a.@ezweb.ne.jp", "a...@au.com", "a-.b..c@t.ezweb.ne.jp", "A..B@DOCOMO.NE.JP"])
  func `local parts of Japanese mobile providers may repeat dots and end with one`(address: String) throws {
    #expect(try normaliseEmail(address) == address.lowercased())
  }

  @Test(arguments: [
    "a..b@example.com", "a..b@notdocomo.ne.jp", "a..b@docomo.ne.jp.example.com", "a..b@ne.jp", ".a@docomo.ne.jp",
    "..@docomo.ne.jp", "@docomo.ne.jp", "a..\u{200B}@docomo.ne.jp", "a..@b@docomo.ne.jp", "\"a..b\"@docomo.ne.jp",
  ])
  func `repeated dots are rejected at other providers, at the beginning, and with other characters`(address: String) {
    #expect(throws: TextError.self) { try normaliseEmail(address) }
  }

  @Test func `only a local part can require SMTPUTF8`() throws {
    #expect(try needsSMTPUTF8(normaliseEmail("amélie@example.com")))
    #expect(try !needsSMTPUTF8(normaliseEmail("amelie@café.example")))
  }

  @Test(arguments: [
    "a@", "a@example", "a@localhost", "a@.com", "a@example..com", "a@-example.com", "a@example-.com", "a@exa_mple.com",
    "a@127.0.0.1", "a@[127.0.0.1]", "a@example.com:25", "a@example.123", "a@exam\u{0}ple.com", "a@.", "Ä@.", "Ä@",
  ])
  func `a domain has at least two labels of letters, digits and inner hyphens, and is not an IP address`(
    address: String
  ) {
    #expect(throws: TextError.invalidEmail(.domain)) { try normaliseEmail(address) }
  }

  @Test func `the limits of RFC 5321 apply exactly: 64, 63 and 254 bytes`() throws {
    let local = String(repeating: "a", count: 64)
    let label = String(repeating: "b", count: 63)
    #expect(try normaliseEmail(local + "@example.com") == local + "@example.com")
    #expect(throws: TextError.invalidEmail(.localPart)) { try normaliseEmail("a" + local + "@example.com") }
    #expect(throws: TextError.invalidEmail(.localPart)) {
      try normaliseEmail(String(repeating: "ä", count: 33) + "@example.com")
    }
    #expect(try normaliseEmail("a@" + label + ".com").utf8.count == 69)
    #expect(throws: TextError.invalidEmail(.domain)) { try normaliseEmail("a@b" + label + ".com") }
    let domain = [label, label, label, String(repeating: "c", count: 60)].joined(separator: ".")
    #expect(try normaliseEmail("a@" + domain).utf8.count == 254)
    #expect(throws: TextError.invalidEmail(.tooLong)) { try normaliseEmail("aa@" + domain) }
    #expect(throws: TextError.invalidEmail(.tooLong)) { try normaliseEmail(String(repeating: " ", count: 1_025)) }
  }

  @Test func `normalising twice changes nothing more, for every character of the basic plane`() {
    for value in UInt32(0x20)...0xFFFF {
      guard let scalar = Unicode.Scalar(value) else { continue }
      for address in ["x\(scalar)y@example.com", "x@x\(scalar)y.example"] {
        guard let once = try? normaliseEmail(address) else { continue }
        let twice = try? normaliseEmail(once)
        if twice?.utf8.elementsEqual(once.utf8) != true {
          Issue.record("U+\(String(value, radix: 16)) gives \(once), then \(twice ?? "a refusal")")
        }
      }
    }
  }
}
