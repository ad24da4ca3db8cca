import TestSupport
import Testing

@testable import API
@testable import Protobuf

@Test func `every message comes back as it was sent`() throws {
  func roundTrip<M: Message>(_ message: M) throws {
    #expect(try M.decode(message.bare) == message)
  }
  for sample in Samples.all { try roundTrip(sample) }
}

@Test func `every message with nothing set encodes to zero bytes, and zero bytes decode to it`() throws {
  func roundTrip<M: Message>(_ message: M) throws {
    let empty = try M.decode([])
    #expect(empty.bare.isEmpty, "\(M.messageName)")
    #expect(try M.decode(empty.bare) == empty)
  }
  for sample in Samples.all { try roundTrip(sample) }
}

@Test func `every value is in the field of its name`() throws {
  func check<M: Mapped & Message>(_ message: M) throws {
    let seen = try checkValues(message.bare, M.schema)
    // A sample sets every field, but only one member of each oneof.
    let oneofs = (0..<M.schema.fieldCount).compactMap { M.schema[$0].oneof }
    #expect(seen.count == M.schema.fieldCount - oneofs.count + Set(oneofs).count, "\(M.messageName)")
  }
  for sample in Samples.all {
    let mirror = try #require(sample as? any Mapped & Message)
    try check(mirror)
  }
}

/// Checks texts against field names and numbers against field numbers, and returns the numbers of the fields.
private func checkValues(_ bytes: [UInt8], _ schema: MessageSchema, parent: FieldSchema? = nil) throws -> Set<UInt32> {
  var seen: Set<UInt32> = []
  var at = 0
  while at < bytes.count {
    let member = try bytes.span.member(&at, end: bytes.count)
    let field = schema[try #require(schema.index(of: member))]
    let payload = Array(bytes[member.payload])
    seen.insert(member.number)
    if field.isMessage {
      _ = try checkValues(payload, field.message, parent: field)
    } else if member.wireType == .lengthPrefixed && field.wireType == .lengthPrefixed {
      #expect(String(decoding: payload, as: UTF8.self) == field.name)
    } else if field.name == "seconds" {
      #expect(payload == varint(try #require(parent).number), "\(schema.name) of \(parent?.name ?? "")")
    } else if !field.isRepeated {
      #expect(payload == [1] || payload == varint(field.number), "\(schema.name).\(field.name)")
    }
  }
  return seen
}

@Test func `every text is in the property of its name`() {
  for sample in Samples.all {
    for (name, value) in Mirror(reflecting: sample).children {
      let texts = (value as? String).map { [$0] } ?? value as? [String] ?? []
      for text in texts { #expect(text.filter { $0 != "_" } == name?.lowercased(), "\(type(of: sample))") }
    }
  }
}

@Test func `every message of the schema has a Swift value`() throws {
  let ours = Set(messageTypes.map { $0.messageName })
  let services = DescriptorSet.services.filter { $0.hasPrefix("latchkey.") }
  let files = try services.flatMap {
    DescriptorSet.withDependencies(try #require(DescriptorSet.file(containingSymbol: $0)))
  }
  for file in files where file.name.hasPrefix("latchkey/") {
    let bytes = file.bytes
    var at = 0
    while at < bytes.count {
      let member = try bytes.span.member(&at, end: bytes.count)
      guard member.number == 4 else { continue }
      // A message descriptor begins with its name.
      let name = bytes[member.payload].dropFirst(2).prefix(Int(bytes[member.payload.lowerBound + 1]))
      #expect(ours.contains("latchkey.v1." + String(decoding: name, as: UTF8.self)))
    }
  }
}

@Test func `a frame is a flag of 0, the length as four big-endian bytes, and the message`() {
  let long = HealthCheckRequest(service: String(repeating: "x", count: 70_000))
  let frame = long.encode(arena: roomyArena())
  // 70,000 bytes of text, a tag of one byte and a length of three.
  #expect(Array(frame.prefix(9)) == [0, 0x00, 0x01, 0x11, 0x74, 0x0a, 0xf0, 0xa2, 0x04])
  #expect(frame.count == 5 + 70_004)
  #expect(DeleteResponse().encode(arena: roomyArena()) == [0, 0, 0, 0, 0])
}

@Test func `an answer larger than the arena's budget is written, and so is the next one`() throws {
  let arena = Arena(budgetBytes: 64)
  let response = Samples.first(SignInResponse.self)
  for _ in 0..<3 {
    #expect(response.encodeBare(arena: arena) == response.bare)
  }
}

@Test func `an empty text in a oneof is present`() throws {
  let request = FetchProvidersRequest(subject: .pendingToken(""))
  #expect(request.bare == [0x12, 0x00])
  #expect(try FetchProvidersRequest.decode([0x12, 0x00]) == request)
}

@Test func `U+0000 in the text of an answer is replaced with U+FFFD`() throws {
  let sent = HealthCheckRequest(service: "\0a\0\0b\0")
  #expect(try HealthCheckRequest.decode(sent.bare).service == "\u{FFFD}a\u{FFFD}\u{FFFD}b\u{FFFD}")
}

@Test(arguments: [
  (0, 0, 0), (1, 0, 1_000_000), (1999, 1, 999_000_000), (-1, -1, 999_000_000), (-1000, -1, 0), (-1001, -2, 999_000_000),
])
func `a timestamp's nanoseconds count forward, also before 1970`(millis: Int64, seconds: Int64, nanos: Int32) throws {
  let message = VerificationSent(expiresAtMillis: millis)
  #expect(message.bare == field(1, timeFields(seconds, nanos)))
  #expect(try VerificationSent.decode(message.bare) == message)
}

@Test(arguments: [(0, 0, 0), (1500, 1, 500_000_000), (-1, 0, -1_000_000), (-1500, -1, -500_000_000)])
func `a duration's seconds and nanoseconds have one sign`(millis: Int64, seconds: Int64, nanos: Int32) throws {
  let message = RetryInfo(retryDelayMillis: millis)
  #expect(message.bare == field(1, timeFields(seconds, nanos)))
  #expect(try RetryInfo.decode(message.bare) == message)
}

@Test func `seconds that milliseconds cannot represent are clamped to the range`() throws {
  #expect(try RetryInfo.decode(field(1, timeFields(.max, 0))).retryDelayMillis == .max)
  #expect(try RetryInfo.decode(field(1, timeFields(.min, 0))).retryDelayMillis == .min)
  #expect(try RetryInfo.decode(field(1, timeFields(.max / 1000, .max))).retryDelayMillis == .max)
}

private func timeFields(_ seconds: Int64, _ nanos: Int32) -> [UInt8] {
  (seconds == 0 ? [] : [0x08] + varint64(UInt64(bitPattern: seconds)))
    + (nanos == 0 ? [] : [0x10] + varint64(UInt64(bitPattern: Int64(nanos))))
}

private func varint64(_ value: UInt64) -> [UInt8] {
  value < 0x80 ? [UInt8(value)] : [UInt8(value & 0x7f) | 0x80] + varint64(value >> 7)
}

@Test func `a health status of a newer schema reads as nil, also a negative one`() throws {
  #expect(try HealthCheckResponse.decode([0x08, 0x63]).status == nil)
  let minusOne = [0x08] + [UInt8](repeating: 0xff, count: 9) + [0x01]
  #expect(try HealthCheckResponse.decode(minusOne).status == nil)
}

@Test func `a Status contains the error details in the standard form`() throws {
  let arena = roomyArena()
  let info = ErrorInfo(reason: "WEAK_PASSWORD", domain: "latchkey", metadata: ["b": "2", "a": "1"])
  let status = Status(code: 3, message: "no", details: [info.asAny(arena: arena)])
  let read = try Status.decode(status.encodeBare(arena: arena))
  #expect(read.details.first?.typeURL == "type.googleapis.com/google.rpc.ErrorInfo")
  #expect(try ErrorInfo.decode(#require(read.details.first).value) == info)
}

@Test func `a map is written in the order of its keys, and the last of equal keys counts`() throws {
  let first = field(3, field(1, "a") + field(2, "1"))
  let second = field(3, field(1, "b") + field(2, "2"))
  let third = field(3, field(1, "a") + field(2, "3"))
  #expect(ErrorInfo(metadata: ["b": "2", "a": "1"]).bare == first + second)
  #expect(try ErrorInfo.decode(first + second + third).metadata == ["a": "3", "b": "2"])
}
