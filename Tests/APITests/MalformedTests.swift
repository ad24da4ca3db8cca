import Testing

@testable import API
@testable import Protobuf

/// `already_linked`, a bool, is field 4.
private let bool: UInt8 = 0x20

@Test func `a value of ten bytes is taken up to 64 bits`() throws {
  let nine = [bool] + [UInt8](repeating: 0xff, count: 9)
  #expect(try LinkResponse.decode(nine + [0x01]).alreadyLinked)
  #expect(LinkResponse.refusal(of: nine + [0x02]) == .malformed(.varint))
  #expect(LinkResponse.refusal(of: nine + [0x80, 0x00]) == .malformed(.varint))
  #expect(LinkResponse.refusal(of: nine) == .malformed(.varint))
}

@Test func `field numbers go from 1 to 2^29-1`() {
  #expect(LinkResponse.refusal(of: [0x00, 0x00]) == .malformed(.tag))
  #expect(LinkResponse.refusal(of: [0x80, 0x00, 0x00]) == .malformed(.tag))
  #expect(LinkResponse.refusal(of: [0x08 << 1, 0x00]) == nil)
  #expect(LinkResponse.refusal(of: [0xf8, 0xff, 0xff, 0xff, 0x0f, 0x00]) == nil)
  #expect(LinkResponse.refusal(of: [0xf8, 0xff, 0xff, 0xff, 0x1f, 0x00]) == .malformed(.tag))
  #expect(LinkResponse.refusal(of: [0xf8, 0xff, 0xff, 0xff, 0x8f, 0x00, 0x00]) == .malformed(.tag))
  #expect(LinkResponse.refusal(of: [0xf8, 0xff]) == .malformed(.tag))
}

@Test(arguments: [3, 4, 6, 7] as [UInt8])
func `groups and undefined wire types are rejected`(wireType: UInt8) {
  #expect(LinkResponse.refusal(of: [0x78 | wireType, 0x00]) == .malformed(.wireType))
}

@Test func `a length that ends with its message is taken, one byte more is refused`() {
  #expect(HealthCheckRequest.refusal(of: [0x0a, 0x02, 0x61, 0x62]) == nil)
  #expect(HealthCheckRequest.refusal(of: [0x0a, 0x03, 0x61, 0x62]) == .malformed(.length))
  #expect(HealthCheckRequest.refusal(of: [0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]) == .malformed(.length))
  #expect(HealthCheckRequest.refusal(of: [0x0a, 0x80, 0x80, 0x80, 0x80, 0x10]) == .malformed(.length))
  #expect(HealthCheckRequest.refusal(of: [0x0a]) == .malformed(.length))
}

@Test func `an inner message does not reach beyond its own end`() {
  // The inner text claims three bytes; the inner message has two left, the outer one has more.
  let inner: [UInt8] = [0x0a, 0x03, 0x61, 0x62]
  #expect(DeleteRequest.refusal(of: field(3, inner) + field(1, "token")) == .malformed(.length))
}

@Test func `an unknown field is checked like a known one`() {
  #expect(LinkResponse.refusal(of: [0x79] + [UInt8](repeating: 0, count: 8)) == nil)
  #expect(LinkResponse.refusal(of: [0x79] + [UInt8](repeating: 0, count: 7)) == .malformed(.length))
  #expect(LinkResponse.refusal(of: [0x7d, 0, 0, 0, 0]) == nil)
  #expect(LinkResponse.refusal(of: [0x7d, 0, 0, 0]) == .malformed(.length))
  #expect(LinkResponse.refusal(of: [0x7a, 0x01]) == .malformed(.length))
}

@Test func `packed numbers may come packed or not, and end where their field ends`() throws {
  let packed = field(2, [0x01, 0x80, 0x01])
  let single = field(2, value: 5)
  #expect(try ExtensionNumberResponse.decode(packed + single + packed).extensionNumber == [1, 128, 5, 1, 128])
  #expect(ExtensionNumberResponse.refusal(of: field(2, [0x01, 0x80]) + [0x01]) == .malformed(.varint))
}

@Test func `messages nest as deep as the limit and no deeper`() {
  let bytes = Samples.first(SignInRequest.self).bare  // request, credential, password: three deep
  #expect(SignInRequest.refusal(of: bytes, arena: Arena(budgetBytes: 65536, depthMax: 3)) == nil)
  #expect(SignInRequest.refusal(of: bytes, arena: Arena(budgetBytes: 65536, depthMax: 2)) == .malformed(.depth))
}

@Test func `100,000 levels of nesting do not overflow the stack`() throws {
  var bytes: [UInt8] = []
  // Builds the nesting from the inside out and reverses it, since prepending to an array is slow.
  for _ in 0..<100_000 { bytes += varint(UInt32(bytes.count)).reversed() + [0x0a] }
  bytes.reverse()
  #expect(SignInRequest.refusal(of: bytes) == .text(field: "credential.password.email"))
  #expect(try SignInRequest.decode([0x7a] + bytes.dropFirst()) == SignInRequest())
  let groups = [UInt8](repeating: 0x0b, count: 100_000)
  #expect(SignInRequest.refusal(of: groups) == .malformed(.wireType))
}

@Test(
  arguments: [
    [0x80], [0xc3], [0xc0, 0x80], [0xc1, 0xbf], [0xe0, 0x80, 0x80], [0xed, 0xa0, 0x80], [0xf0, 0x80, 0x80, 0x80],
    [0xf4, 0x90, 0x80, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xff], [0x00],
  ] as [[UInt8]])
func `text that is not UTF-8 or contains U+0000 is rejected with the field's name, in every field`(bad: [UInt8]) {
  for lead in 0..<20 {
    for trail in [0, 1, 7, 8, 9] {
      let text = [UInt8](repeating: 0x61, count: lead) + bad + [UInt8](repeating: 0x61, count: trail)
      #expect(HealthCheckRequest.refusal(of: field(1, text)) == .text(field: "service"), "\(text)")
    }
  }
}

@Test func `text that would take long to compare is refused with the field's name (UAX #15, 13)`() throws {
  let marks = String(repeating: "\u{301}", count: 30)
  for lead in ["", "a", "aaaaaaaa"] {
    #expect(try HealthCheckRequest.decode(field(1, lead + marks)).service == lead + marks)
    #expect(HealthCheckRequest.refusal(of: field(1, lead + marks + "\u{323}z")) == .text(field: "service"))
  }
}

@Test(arguments: ["", "a", "é", "\u{7ff}", "\u{800}", "\u{d7ff}", "\u{e000}", "\u{ffff}", "\u{10000}", "\u{10ffff}"])
func `all other text is accepted in every field`(text: String) throws {
  for lead in 0..<20 {
    let sent = String(repeating: "a", count: lead) + text + "aaaaaaaaa"
    #expect(try HealthCheckRequest.decode(field(1, sent)).service == sent)
  }
}

@Test func `the error names the path of an invalid text field`() {
  let password = field(1, field(1, field(1, [0xff])))
  #expect(SignInRequest.refusal(of: password) == .text(field: "credential.password.email"))
  #expect(SignInRequest.refusal(of: field(5, field(2, "a\0b"))) == .text(field: "client.user_agent"))
  #expect(FetchProvidersResponse.refusal(of: field(2, "ok") + field(2, [0])) == .text(field: "provider_ids"))
}

@Test func `a bytes field may contain any bytes`() throws {
  let value: [UInt8] = [0x00, 0xff, 0xc0]
  #expect(try AnyMessage.decode(field(2, value)).value == value)
}
