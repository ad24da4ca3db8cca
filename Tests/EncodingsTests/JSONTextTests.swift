import Encodings
import FoundationEssentials
import Testing

private func quotedText(_ text: String) -> String {
  var bytes: [UInt8] = []
  JSONText.append(text, to: &bytes)
  return String(decoding: bytes, as: UTF8.self)
}

@Test(arguments: [
  ("plain", "\"plain\""), ("", "\"\""), ("a\"b", "\"a\\\"b\""), ("a\\b", "\"a\\\\b\""), ("a\nb", "\"a\\nb\""),
  ("a\r\tb", "\"a\\u000d\\u0009b\""), ("\0\u{1f}", "\"\\u0000\\u001f\""), ("é\u{1F600}\u{7f}", "\"é\u{1F600}\\u007f\""),
  ("\u{85}\u{9b}\u{202e}\u{2028}\u{feff}", "\"\\u0085\\u009b\\u202e\\u2028\\ufeff\""), ("\u{E0001}",
  "\"\\udb40\\udc01\""),
  ("👩\u{200D}🚀", "\"👩\u{200D}🚀\""),
])
func `a text is one JSON string on one line`(text: String, quoted: String) throws {
  #expect(quotedText(text) == quoted)
  #expect(try JSONDecoder().decode([String].self, from: Data("[\(quotedText(text))]".utf8)) == [text])
}

@Test func `a character is escaped in the same way at every position`() throws {
  for character in (0..<0x80).map({ String(Unicode.Scalar($0)) }) + ["é", "\u{1F600}"] {
    let places = (0..<20).map { String(repeating: "x", count: $0) + character + String(repeating: "y", count: 19 - $0) }
    let json = "[\(places.map(quotedText).joined(separator: ","))]"
    #expect(try JSONDecoder().decode([String].self, from: Data(json.utf8)) == places)
  }
}
