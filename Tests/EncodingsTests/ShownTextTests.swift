import Encodings
import Testing

@Test(arguments: [
  "Ada", "", "Ada Lovelace é", "👩\u{200D}🚀", "❤\u{FE0F}", "\u{1F3F4}\u{E0067}\u{E0062}\u{E007F}", "نامه\u{200C}ای",
  " x ",
])
func `text without control characters stays as it is, with the joiners of emoji and scripts`(text: String) {
  #expect(Array(ShownText.cleaned(text).unicodeScalars) == Array(text.unicodeScalars))
}

@Test(arguments: [
  ("Ada\tLovelace", "Ada Lovelace"), ("Ada\r\nBcc: x", "Ada Bcc: x"), ("\u{1B}[31mAda\u{7}", "[31mAda"),
  ("Ada \n Lovelace\n", "Ada  Lovelace"), ("\nAda", "Ada"), ("A\0d\u{7F}a\u{9B}", "Ada"), ("A\u{2028}B\u{2029}", "A B"),
  ("\u{202E}adA\u{202C}\u{2066}\u{2069}\u{200E}\u{200F}\u{61C}", "adA"), ("\u{FEFF}Ada", "Ada"),
  ("\t\n", ""),
])
func `control characters are removed, and words stay separate`(text: String, cleaned: String) {
  #expect(ShownText.cleaned(text) == cleaned)
}

@Test(arguments: [0xFDD0, 0xFDEF, 0xFFFE, 0x1FFFF, 0x10FFFF] as [UInt32])
func `noncharacters are removed, which Swift's literals cannot hold`(code: UInt32) throws {
  var text = String.UnicodeScalarView("Ad".unicodeScalars)
  text.append(try #require(Unicode.Scalar(code)))
  text.append("a")
  #expect(ShownText.cleaned(String(text)) == "Ada")
}

@Test func `control characters are removed from a URL as in a browser`() {
  #expect(ShownText.withoutControls("java\nscript:\tx") == "javascript:x")
}

@Test(arguments: [("abc", 3, "abc"), ("abc", 2, "ab"), ("aé", 2, "a"), ("😀", 3, ""), ("a\u{301}", 2, "a"), ("", 0, "")])
func `text is cut between scalars`(text: String, bytesMax: Int, cut: String) {
  #expect(Array(ShownText.cut(text, bytesMax: bytesMax).utf8) == Array(cut.utf8))
}
