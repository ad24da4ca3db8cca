import Encodings
import FoundationEssentials
import Testing

@testable import GRPC

private func text(_ status: Status) -> [String] {
  status.fields.map { "\($0.name): \(String(decoding: $0.value, as: UTF8.self))" }
}

@Test func `A3: grpc-status is always present, decimal and without leading zeros`() {
  for code in 0...16 { #expect(text(Status(Status.Code(rawValue: code))) == ["grpc-status: \(code)"]) }
}

@Test func `the fields of a status are in a fixed order, and empty ones are left out`() {
  let status = Status(.unavailable, "try later", details: [8, 14], pushbackMillis: 1500)
  #expect(
    text(status) == [
      "grpc-status: 14", "grpc-message: try later", "grpc-status-details-bin: CA4", "grpc-retry-pushback-ms: 1500",
    ])
  #expect(text(Status(.unavailable, pushbackMillis: 0)) == ["grpc-status: 14", "grpc-retry-pushback-ms: 0"])
}

@Test func `gRFC A6: a negative push-back tells the client not to try again`() {
  #expect(text(Status(.unavailable, pushbackMillis: -1)) == ["grpc-status: 14", "grpc-retry-pushback-ms: -1"])
}

@Test func `A4: only 0x20-0x24 and 0x26-0x7E stay unchanged in a message`() {
  for scalar in UInt8(0)...0x7f {
    let encoded = Status.percentEncoded(String(UnicodeScalar(scalar)))
    let stays = (0x20...0x24).contains(scalar) || (0x26...0x7e).contains(scalar)
    let digits = String(scalar, radix: 16, uppercase: true)
    #expect(encoded == (stays ? [scalar] : bytes("%" + (scalar < 16 ? "0" : "") + digits)), "\(scalar)")
  }
}

@Test func `A4: other text is percent-encoded UTF-8, with upper-case digits`() {
  let message = "\t100% of Zürich is\r\n漢 and 😈"
  let encoded = "%09100%25 of Z%C3%BCrich is%0D%0A%E6%BC%A2 and %F0%9F%98%88"
  #expect(Status.percentEncoded(message) == bytes(encoded))
  #expect(text(Status(.unknown, message)).last == "grpc-message: \(encoded)")
}

@Test func `A4: a message is limited in bytes, not characters, and is never cut inside a scalar`() {
  let marked = "e" + String(repeating: "\u{301}", count: 11_000)
  let cut = Status.cut(marked, bytesMax: 128)
  #expect(cut.utf8.count == 127 && marked.unicodeScalars.starts(with: cut.unicodeScalars))
  #expect(Status.cut("12😈", bytesMax: 5) == "12" && Status.cut("12😈", bytesMax: 6) == "12😈")
  let sent = Status(.unknown, marked).fields.last?.value ?? []
  #expect(Status.percentDecoded(sent) == Status.cut(marked, bytesMax: 1_024))
}

@Test func `A5, R7: details are base64 without padding`() {
  let examples = [
    "": "", "f": "Zg", "fo": "Zm8", "foo": "Zm9v", "foob": "Zm9vYg", "fooba": "Zm9vYmE", "foobar": "Zm9vYmFy",
  ]
  for (plain, encoded) in examples { #expect(Base64.encode(bytes(plain)) == bytes(encoded)) }
  #expect(Base64.encode([0xfb, 0xef, 0xff]) == bytes("++//"))
}

@Test func `encoded values of every length are accepted`() {
  var value: [UInt8] = []
  for byte in 0...100 {
    let isValid = Base64.isValidList(Base64.encode(value).span)
    #expect(isValid, "\(value.count) bytes")
    value.append(UInt8(byte * 5 % 256))
  }
}

@Test func `the description of a rejection contains its code, its text and its form`() {
  let plain = Refusal(.internal, "why")
  #expect(plain.status == Status(.internal, "why"))
  #expect(plain.form == .trailersOnly)
  #expect(!plain.namesEncodings)
}

/// doc/statuscodes.md: the library never generates INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, FAILED_PRECONDITION,
/// ABORTED, OUT_OF_RANGE and DATA_LOSS.
@Test func `the library never returns the codes that belong to the application`() throws {
  let names = [
    "invalidargument", "notfound", "alreadyexists", "failedprecondition", "aborted", "outofrange", "dataloss",
  ]
  let folder = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/Sources/GRPC"
  let files = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".swift") }
  var codes: Set<Int> = []
  for file in files {
    let source = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
    let flat = source.lowercased().filter { $0 != "_" }
    for name in names { #expect(!flat.contains(name), "\(file) names \(name)") }
    codes.formUnion(source.matches(of: /Code\(rawValue: (\w+)\)/).compactMap { Int($0.1) })
  }
  #expect(codes == [0, 1, 2, 4, 7, 8, 12, 13, 14, 16])
}
