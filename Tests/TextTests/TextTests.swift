import Testing
import Text

struct PasswordTextTests {
  @Test func `A password typed on two keyboards is one password: NFKC (check 103)`() {
    let decomposed = normalisePassword("pa\u{0308}ssword")
    #expect(Array(decomposed.utf8) == Array("p\u{00E4}ssword".utf8))
    #expect(normalisePassword("ｐａｓｓ①") == "pass1")
    #expect(normalisePassword("ﬁ") == "fi")
  }

  @Test func `Case, inner and outer spaces, and plain ASCII of a password stay as typed`() {
    for password in [" Correct Horse\t", "", "aB3$", String(repeating: "x", count: 1_024)] {
      #expect(normalisePassword(password) == password)
    }
    #expect(normalisePassword("Ä b") == "Ä b")
  }

  @Test func `A password with a NUL, which the shape check has to refuse, is not cut here`() {
    #expect(normalisePassword("ä\u{0}b").utf8.count == 4)
  }
}

struct PhoneTests {
  @Test(arguments: [
    ("+16505553434", "+16505553434"), ("+1 (650) 555-34.34", "+16505553434"), ("+2904123", "+2904123"),
    ("+123456789012345", "+123456789012345"), (" \t+16505553434\u{A0}\n", "+16505553434"),
    ("+39 (06) 6982 0000", "+390669820000"), ("+1 (200) 555-0100", "+12005550100"),
  ])
  func `A number in E.164, with or without visual separators, has one spelling`(
    number: String, expected: String
  ) throws {
    #expect(try e164(number) == expected)
  }

  @Test(arguments: [
    "", "+", "16505553434", "0016505553434", "+06505553434", "+123456", "+1234567890123456", "+1650555343a",
    "++16505553434", "+1650555+3434", "+1650555３434", "-+16505553434", "+1650555\u{0}3434",
    "(+1) 650 555 3434", "+1650\u{A0}5553434", "+1650555" + String(repeating: " ", count: 60) + "3434",
  ])
  func `Anything else is no number: national forms, letters, foreign digits, 6 or 16 digits`(number: String) {
    #expect(throws: TextError.invalidPhoneNumber) { try e164(number) }
  }

  @Test(arguments: [
    "+44 (0)20 7946 0958", "+44(0)2079460958", "+49-(0)-30-1234567", "+49 ( 0 ) 30 1234567", "+4930(0)1234567",
  ])
  func `A national prefix in parentheses is refused, for it must not be dialled`(number: String) {
    #expect(throws: TextError.invalidPhoneNumber) { try e164(number) }
  }
}
