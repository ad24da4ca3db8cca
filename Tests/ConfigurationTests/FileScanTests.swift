import Testing

@testable import Configuration

private func refused(_ text: String) -> String? {
  refusal { try ConfigNode.parse(Array(text.utf8)) }?.description
}

@Test(arguments: [
  ("{ listen: { port: 1 },\n  // again\n  listen: { port: 2 } }", "listen: it appears twice (lines 1 and 3)"),
  ("{ listen: {\n port: 1,\n 'port': 1 } }", "listen.port: it appears twice (lines 2 and 3)"),
  ("{ callers: [{ name: 'a' },\n { name: 'b', name: 'b' }] }", "callers[1].name: it appears twice (lines 2 and 2)"),
  ("{ \"l\\u0069sten\": {},\n\n listen: {} }", "listen: it appears twice (lines 1 and 3)"),
  ("{ text: 'a\\\nb', text: 1 }", "text: it appears twice (lines 1 and 2)"),
  ("{ a: 1 /* a: 2 */, b: 'a: 3', c: { a: 4 }, d: [{ a: 5 }, { a: 6 }], a: 7 }", "a: it appears twice (lines 1 and 1)"),
  ("{ '': 1, '': 2 }", "the file: it appears twice (lines 1 and 1)"),
])
func `a duplicate name in an object is rejected with its lines`(text: String, told: String) {
  #expect(refused(text) == told)
}

@Test(arguments: [
  ("{ listen: { port: 1 } tls: {} }", "line 1, column 23: expected a comma or }, found a word"),
  ("{ a: [1 2] }", "line 1, column 9: expected a comma or ], found a word"),
  ("{ 'a' 1 }", "line 1, column 7: expected a colon, found a word"),
  ("{ a: 1,, }", "line 1, column 8: expected a name, found ,"),
  ("{ a: ::1 }", "line 1, column 6: expected a value, found :"),
  ("{ a: 1 } 'b'", "line 1, column 10: expected the end of the file, found a string"),
  ("", "line 1, column 1: expected a value"),
  ("{\n  listen: {\n    port: 1\n}\n", "line 5, column 1: the file ends, but the { of line 1, column 1 is not closed"),
  ("{ é: \"abc\n  b: \"c\" }", "line 1, column 6: the string that starts here is not closed"),
  ("{ a: 'b", "line 1, column 6: the string that starts here is not closed"),
  ("{ /* a", "line 1, column 3: the comment that starts here is not closed"),
  ("{ a.b: 1 }", "line 1, column 3: the name a.b needs quotes"),
  ("{\n\u{A0}a: 1 }", "line 2, column 1: there is a whitespace character that is not ASCII"),
  (
    "{ listen: { address: 0.0.0.0 } }",
    "line 1, column 22: this is not a number, true, false or null; a string needs quotes"
  ),
  ("{ port: 08443 }", "line 1, column 9: a number must not start with 0"),
  ("{ a: 'C:\\users' }", "line 1, column 9: a backslash that starts no escape must be doubled"),
  ("{ a: 'C:\\data' }", "line 1, column 9: a backslash that starts no escape must be doubled"),
  ("{ a: 'b\tc' }", "line 1, column 8: a control character in a string must be escaped"),
  (String(repeating: "[", count: 513), "line 1, column 513: it is nested too deeply"),
  ("{ listen: { port: 1e400 } }", "a value cannot be read: listen.port"),
])
func `a file that is not JSON5 is rejected with the place of the first error`(text: String, told: String) {
  #expect(refused(text) == "the file: it is not JSON5: \(told)")
}

@Test(arguments: [
  "{ a: -Infinity, b: NaN, c: +.5, d: 5., e: 0xfE, f: 1e5, g: +1.5e-3, 'h': [1, 2,], $x_: null, é: true, }",
  "// one\n/* two **/ { a\u{B}:\u{C}'\\'\\x41\\u00e9\\\n', \"b\": '\"' /**/ } // three", "\u{FEFF}{}", "[]", "null",
  "{ l\\u0069sten: 1, v1e: 2, '+-.': 3, '': 4 }", "{ a: 'x\\\r\ny',\r\n b: 1 }",
  String(repeating: "[", count: 512) + String(repeating: "]", count: 512),
])
func `the scan finds no fault in text that the decoder accepts`(text: String) throws {
  _ = try ConfigNode.parse(Array(text.utf8))
  #expect(FileScan(Array(text.utf8)).fault == nil)
}
