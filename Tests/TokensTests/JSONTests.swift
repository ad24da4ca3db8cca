import Testing
import Tokens

struct JSONTests {
  @Test func `a document of every kind of value is read, in order`() throws {
    let document = try json(
      #" { "a" : [ 1 , -0, 2.5e1, true , false , null ] , "b" : { "c" : "d" }, "e":{}, "f":[] } "#)
    #expect(
      document
        == .object([
          .init("a", .array([.int(1), .int(0), .double(25), .bool(true), .bool(false), .null])),
          .init("b", .object([.init("c", .string("d"))])), .init("e", .object([])), .init("f", .array([])),
        ]))
    #expect(document["b"]?["c"]?.string == "d")
    #expect(document["nothing"] == nil)
    #expect(document["a"]?["c"] == nil)
  }

  @Test func `numbers of 64 bits survive, larger ones become doubles, infinite ones are refused (check 75)`() throws {
    #expect(try json("9223372036854775807") == .int(.max))
    #expect(try json("-9223372036854775808") == .int(.min))
    #expect(try json("9223372036854775808") == .double(9_223_372_036_854_775_808))
    #expect(try json("1.0") == .double(1))
    #expect(throws: JSONError.self) { try json("1e999") }
  }

  @Test(arguments: [
    (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u0041\u00e4\u20AC""#, "Aä€"), (#""\ud83d\uDE00""#, "😀"),
    (#""ä\u0000z""#, "ä\u{0}z"), (#""\ud800""#, "\u{FFFD}"), (#""\udc00""#, "\u{FFFD}"), (#""\ud800x""#, "\u{FFFD}x"),
    (#""\ud800\u0041""#, "\u{FFFD}A"), (#""\ud800\n\udfff""#, "\u{FFFD}\n\u{FFFD}"),
    (#""\udc00\udc00""#, "\u{FFFD}\u{FFFD}"), (#""\ud800\ud83d\ude00""#, "\u{FFFD}😀"),
    (#""""#, ""), ("\"\u{7F}😀\"", "\u{7F}😀"),
  ])
  func `escapes follow RFC 8259`(text: String, expected: String) throws {
    #expect(try json(text) == .string(expected))
  }

  @Test(arguments: [
    "", " ", "{", "[", "\"", "nul", "tru", "True", "01", "-", "+1", "1.", ".5", "1e", "1e+", "0x1", "NaN", "Infinity",
    "[1,]", "[,1]", "[1 2]", "{,}", #"{"a":1,}"#, #"{"a"}"#, #"{"a":}"#, #"{a:1}"#, "{'a':1}", "{1:1}", "1 1", "[]]",
    "{}x", "//c\n1", "\u{FEFF}1", "1\u{0}", "\u{A0}1", "\"\t\"", "\"\n\"", #""\x""#, #""\u12""#, #""\u12G4""#,
    #""\ud800"#, #""\ud800\"#, #""\ud800\x""#, #""\ud800\u""#, #""\ud800\ud8""#, #""\ud8""#, #""\"#,
  ])
  func `text that RFC 8259 does not allow is a syntax error`(text: String) {
    #expect {
      try json(text)
    } throws: { error in
      if case .syntax = error as? JSONError { true } else { false }
    }
  }

  @Test(arguments: [
    #""\ud800""#, #""\udc00""#, #""\ud800\u0041""#, #""\ud800\ud800""#, #""\ud800x""#, #"{"\udc00":1}"#,
  ])
  func `half a character is rejected when the text is used`(text: String) {
    #expect {
      try JSONValue.parse(Array(text.utf8), byteCountMax: 100, .refused)
    } throws: { error in
      if case .syntax = error as? JSONError { true } else { false }
    }
    #expect(throws: CustomClaimsError.malformed) { try CustomClaims(validating: #"{"a":\#(text)}"#) }
  }

  @Test func `a member's name occurs once, however it is escaped, in small and large objects`() throws {
    #expect(throws: JSONError.duplicateName("aud")) { try json(#"{"aud":"a","aud":"b"}"#) }
    #expect(throws: JSONError.duplicateName("aud")) { try json(#"{"aud":"a","x":{},"a\u0075d":"b"}"#) }
    let members = (0..<100).map { #""m\#($0)":0"# }
    for index in [0, 15, 16, 99] {
      #expect(throws: JSONError.duplicateName("m\(index)")) {
        try json("{" + (members + [members[index]]).joined(separator: ",") + "}")
      }
    }
    #expect(try json("{" + members.joined(separator: ",") + "}").members?.count == 100)
    #expect(try json(#"[{"a":1},{"a":2}]"#).array?.count == 2)
  }

  @Test func `a member is found by the bytes of its name, not by Unicode equivalence`() throws {
    let value = try json("{\"\u{212A}id\":1,\"e\u{301}\":2,\"kid\":3,\"kie\":4}")
    #expect("\u{212A}id" == "Kid" && "e\u{301}" == "\u{E9}")
    #expect(value["Kid"] == nil && value["\u{212A}id"] == .int(1))
    #expect(value["\u{E9}"] == nil && value["e\u{301}"] == .int(2))
    #expect(value["kid"] == .int(3) && value["kie"] == .int(4) && value["kif"] == nil && value[""] == nil)
  }

  @Test func `depth 8 is read, depth 9 rejected, and a million brackets do not crash the process (check 112)`() throws {
    #expect(try json(String(repeating: "[", count: 8) + String(repeating: "]", count: 8)).array?.count == 1)
    #expect(throws: JSONError.tooDeep) {
      try json(String(repeating: "[", count: 9) + String(repeating: "]", count: 9))
    }
    #expect(throws: JSONError.tooDeep) {
      try json(String(repeating: #"{"a":"#, count: 9) + "1" + String(repeating: "}", count: 9))
    }
    let brackets = [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000)
    #expect(throws: JSONError.tooDeep) { try JSONValue.parse(brackets, byteCountMax: 1_000_000) }
  }

  @Test func `the size is checked before the text is read`() throws {
    let text = Array("[1]".utf8)
    #expect(try JSONValue.parse(text, byteCountMax: 3) == .array([.int(1)]))
    #expect(throws: JSONError.tooLarge) { try JSONValue.parse(text, byteCountMax: 2) }
  }

  @Test(arguments: [
    [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
    [0x22, 0x5C, 0x6E, 0xFF, 0x22], [0x22, 0xF5, 0x80, 0x80, 0x80, 0x22],
  ] as [[UInt8]])
  func `text that is not UTF-8 is refused: stray, cut, overlong, surrogate, past the end`(bytes: [UInt8]) {
    #expect(throws: JSONError.syntax(offset: 1)) { try JSONValue.parse(bytes, byteCountMax: 100) }
  }

  @Test func `written text is read back, with every character that needs an escape`() throws {
    let every = String(String.UnicodeScalarView((0..<0x300).compactMap(Unicode.Scalar.init)))
    let value = JSONValue.object([
      .init(every, .array([.string(every), .int(.min), .double(0.1), .double(1e300), .bool(true), .bool(false)])),
      .init("", .object([.init("null", .null), .init("none", .array([])), .init("{[:", .string("{[:"))])),
    ])
    var writer = JSONWriter()
    writer.value(value)
    #expect(try JSONValue.parse(writer.bytes, byteCountMax: 65_536) == value)
    #expect(writer.bytes.allSatisfy { $0 >= 0x20 })
  }

  @Test func `a date is a number, which may have a fraction (RFC 7519 2)`() throws {
    #expect(try json("1700000000").numericDate == 1_700_000_000)
    #expect(try json("1700000000.9").numericDate == 1_700_000_000)
    for text in [#""1700000000""#, "null", "true", "[1]", "1e300"] {
      #expect(try json(text).numericDate == nil)
    }
  }

  @Test func `accessors return a value only for their own kind, and string lists only for lists of strings`() throws {
    let value = try json(#"{"s":"1","i":1,"b":true,"a":["x","y"],"m":["x",1]}"#)
    #expect(value["s"]?.string == "1" && value["s"]?.int == nil && value["s"]?.bool == nil && value["s"]?.array == nil)
    #expect(value["i"]?.int == 1 && value["i"]?.string == nil && value["i"]?.bool == nil)
    #expect(value["b"]?.bool == true && value["b"]?.string == nil)
    #expect(value["a"]?.strings == ["x", "y"] && value["m"]?.strings == nil && value["s"]?.strings == nil)
  }
}
