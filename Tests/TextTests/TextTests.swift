import Testing
import Text

struct PasswordTextTests {
  @Test func `a password typed on two keyboards is one password: NFKC (check 103)`() {
    let decomposed = normalisePassword("pa\u{0308}ssword")
    #expect(Array(decomposed.utf8) == Array("p\u{00E4}ssword".utf8))
    #expect(normalisePassword("ｐａｓｓ①") == "pass1")
    #expect(normalisePassword("ﬁ") == "fi")
  }

  @Test func `case, inner and outer spaces, and plain ASCII of a password stay as typed`() {
    for password in [" Correct Horse\t", "", "aB3$", String(repeating: "x", count: 1_024)] {
      #expect(normalisePassword(password) == password)
    }
    #expect(normalisePassword("Ä b") == "Ä b")
  }

  @Test func `a password with a NUL is not cut here, since the shape check rejects it`() {
    #expect(normalisePassword("ä\u{0}b").utf8.count == 4)
  }
}

struct PhoneTests {
  @Test(arguments: [
    ("+16505553434", "+16505553434"), ("+1 (650) 555-34.34", "+16505553434"), ("+2904123", "+2904123"),
    ("+123456789012345", "+123456789012345"), (" \t+16505553434\u{A0}\n", "+16505553434"),
    ("+39 (06) 6982 0000", "+390669820000"), ("+1 (200) 555-0100", "+12005550100"),
    ("+491511234567", "+491511234567"), ("+49 151 1234567", "+491511234567"), ("+1 (415) 555-0101", "+14155550101"),
    ("+1650555３434", "+16505553434"), ("＋４９１５１１２３４５６７", "+491511234567"), ("+٤٩١٥١١٢٣٤٥٦٧", "+491511234567"),
    ("+1650\u{A0}5553434", "+16505553434"), ("\u{202A}+49\u{202F}151\u{2011}1234567\u{202C}", "+491511234567"),
    ("+49 151/1234567", "+491511234567"), ("+49\u{200B}151\t1234567", "+491511234567"), ("+ 49 (151) 1234567",
    "+491511234567"),
  ])
  func `a number in E.164, with or without visual separators, has one spelling`(
    number: String, expected: String
  ) throws {
    #expect(try e164(number) == expected)
  }

  @Test(arguments: [
    "", "+", "16505553434", "0016505553434", "+06505553434", "+123456", "+1234567890123456", "+1650555343a",
    "++16505553434", "+1650555+3434", "+1650555\u{0}3434",
    "(+1) 650 555 3434", "+1650555" + String(repeating: " ", count: 120) + "3434", "00491511234567", "0151 1234567",
    "+1 650 555 3434 x12", "+1 650 555 3434 ext. 2", "tel:+16505553434", "+1650555\u{1B}3434", "+¹⁶⁵⁰⁵⁵⁵³⁴³⁴",
    "+1 650 555 3434, +1 650 555 3435",
  ])
  func `national forms, letters, extensions and 6 or 16 digits are not phone numbers`(number: String) {
    #expect(throws: TextError.invalidPhoneNumber) { try e164(number) }
  }

  @Test(arguments: [
    ("+49 (0)151 1234567", "+491511234567"), ("+49 0151 1234567", "+491511234567"), ("+44 (0)20 7946 0958",
    "+442079460958"),
    ("+44(0)2079460958", "+442079460958"), ("+49-(0)-30-1234567", "+49301234567"), ("+49 ( 0 ) 30 1234567",
    "+49301234567"),
    ("+(49) 0151 1234567", "+491511234567"), ("+358 (0)40 1234567", "+358401234567"),
    // In these countries, numbers begin with a 0 that is not a trunk prefix.
    ("+39 06 6982 0000", "+390669820000"), ("+225 07 12 34 56 78", "+2250712345678"), ("+242 06 123 4567",
    "+242061234567"),
  ])
  func `a trunk zero is dropped if the country has one`(number: String, expected: String) throws {
    #expect(try e164(number) == expected)
  }

  @Test(arguments: [
    "+4930(0)1234567", "+49 (0)(0)151 1234567", "+49 00151 1234567", "+49 (0)0151 1234567", "+1 (0)415 555 0101",
    "+1 0415 555 0101", "+7 0495 123 45 67", "+39 (0)6 6982 0000", "+225 (0)712345678", "(0)+49 151 1234567",
  ])
  func `a zero that may or may not be dialled is rejected`(number: String) {
    #expect(throws: TextError.invalidPhoneNumber) { try e164(number) }
  }
}

struct OneTimeCodeTests {
  @Test(arguments: [
    ("123456", "123456"), (" 123 456\n", "123456"), ("123-456", "123456"), ("１２３４５６", "123456"), ("١٢٣٤٥٦", "123456"),
    ("\u{A0}123\u{2009}456\u{200B}", "123456"), ("123\u{2013}456\u{2212}", "123456"), ("\u{202A}123456\u{202C}",
    "123456"),
    ("ABCD-efgh ABCD\u{2011}EFGH", "abcdefghabcdefgh"), ("ＡＢ", "ab"), ("12a", "12a"), ("", ""),
  ])
  func `a code is compared without pasted blanks and hyphens`(code: String, plain: String) {
    #expect(oneTimeCode(code) == plain)
  }
}
