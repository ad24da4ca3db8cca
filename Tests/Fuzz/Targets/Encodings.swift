import Encodings
import GRPC
import Tokens

extension FuzzTarget {
  /// `grpc-timeout`: accepts exactly the grammar of the gRPC document, and rounds up.
  static let timeout = FuzzTarget("timeout", seeds: timeoutSeeds) { input in
    let millis = Timeout.millis(input.span)
    law(millis == referenceMillis(input), "\(String(decoding: input, as: UTF8.self)) became \(millis ?? -1)")
  }

  /// Percent encoding and the two alphabets of base64: output reads back, base64url has one spelling, and input of
  /// other encoders is decoded like slower reference decoders do.
  static let encodings = FuzzTarget("encodings", seeds: encodingSeeds) { input in
    let text = String(decoding: input, as: UTF8.self)
    let percent = Status.percentEncoded(text)
    law(percent.allSatisfy { (0x20...0x7E).contains($0) }, "percent encoding writes bytes that a header cannot have")
    law(referencePercent(percent) == Array(text.utf8), "percent encoding does not read back")
    law(referenceBase64(Base64.encode(input)) == input, "base64 does not read back")
    law(Base64URL.decode(Base64URL.encode(input)) == input, "base64url does not read back")
    if let bytes = Base64URL.decode(text) {
      law(Base64URL.encode(bytes) == text, "base64url has two spellings of \(bytes)")
    }
    checkBinaryField(input)
    law(Base64.decode(input) == referenceBase64(input), "base64 differs from the reference")
    checkForm(input)
    checkMessage(input)
  }

  /// A pair that is encoded again reads back, and no pair is made up.
  private static func checkForm(_ form: [UInt8]) {
    guard let pairs = FormEncoding.pairs(form[...]) else { return }
    law(pairs.count <= form.split(separator: UInt8(ascii: "&")).count, "a form has more pairs than parts")
    for (name, value) in pairs {
      let escaped = (name + "=" + value).utf8.map { byte in
        let digits = String(byte, radix: 16)
        return "%" + (digits.count == 1 ? "0" : "") + digits
      }
      law(
        FormEncoding.decode(Array(escaped.joined().utf8)[...]) == name + "=" + value,
        "a pair of a form does not read back")
    }
  }

  /// `grpc-message` of a server: accepts any value, decodes complete escapes, and keeps the rest unchanged.
  private static func checkMessage(_ value: [UInt8]) {
    var reader = AnswerReader(messageBytesMax: 1_024, streams: false)
    for (name, value) in [
      (":status", Array("200".utf8)), ("content-type", Array("application/grpc".utf8)),
      ("grpc-status", Array("8".utf8)), ("grpc-message", value), ("grpc-status-details-bin", value),
    ] {
      reader.field(name: Array(name.utf8).span, value: value.span)
    }
    let status = reader.finish().status
    law(status.code == .resourceExhausted, "a message changes its status to \(status.code)")
    if let bytes = referencePercent(value) {
      law(status.message == String(decoding: bytes, as: UTF8.self), "a message differs from the reference")
    }
    law(status.details == referenceBase64(value) ?? [], "details are read otherwise")
  }

  /// A value of binary metadata is accepted if and only if each of its parts is base64.
  private static func checkBinaryField(_ value: [UInt8]) {
    var reader = usualReader
    let name = Array("x-bin".utf8)
    reader.field(name: name.span, value: value.span)
    let isBase64 = referenceIsBinaryList(value)
    if case .success = reader.finish() {
      law(isBase64, "binary metadata that is not base64 is accepted")
    } else {
      law(!isBase64, "binary metadata in base64 is rejected")
    }
  }

  private static var usualReader: HeadReader {
    var reader = HeadReader()
    for (name, value) in [
      (":method", "POST"), (":authority", "localhost"), (":path", "/a.B/C"), ("te", "trailers"),
      ("content-type", "application/grpc"),
    ] {
      let (name, value) = (Array(name.utf8), Array(value.utf8))
      reader.field(name: name.span, value: value.span)
    }
    return reader
  }

  static func referenceMillis(_ value: [UInt8]) -> Int64? {
    let nanoseconds: [UInt8: Int128] = [
      UInt8(ascii: "H"): 3_600_000_000_000, UInt8(ascii: "M"): 60_000_000_000, UInt8(ascii: "S"): 1_000_000_000,
      UInt8(ascii: "m"): 1_000_000, UInt8(ascii: "u"): 1_000, UInt8(ascii: "n"): 1,
    ]
    let digits = value.dropLast()
    guard let unit = value.last.flatMap({ nanoseconds[$0] }), (1...8).contains(digits.count),
      digits.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int128(String(decoding: digits, as: UTF8.self))
    else { return nil }
    return Int64((count * unit + 999_999) / 1_000_000)
  }

  private static func referencePercent(_ text: [UInt8]) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = text[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      let digits = rest.prefix(2)
      // Otherwise the parser would accept a sign.
      guard digits.count == 2, digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
        let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
      else { return nil }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return bytes
  }

  /// Parts between commas, with whitespace around each (RFC 9110 5.6.1).
  static func referenceIsBinaryList(_ value: [UInt8]) -> Bool {
    let blanks = Array(" \t".utf8)
    return value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).allSatisfy { part in
      let inner = part.drop { blanks.contains($0) }
      let end = inner.lastIndex { !blanks.contains($0) }.map { $0 + 1 } ?? inner.startIndex
      return referenceBase64(Array(inner[..<end])) != nil
    }
  }

  /// With padding to the next group of four, or without padding.
  static func referenceBase64(_ text: [UInt8]) -> [UInt8]? {
    let digits = text.prefix { $0 != UInt8(ascii: "=") }
    let padding = text.count - digits.count
    guard text.suffix(padding).allSatisfy({ $0 == UInt8(ascii: "=") }), digits.count % 4 != 1 else { return nil }
    guard padding == 0 || padding == (4 - digits.count % 4) % 4 else { return nil }
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var bits: [Bool] = []
    for digit in digits {
      guard let value = alphabet.firstIndex(of: digit) else { return nil }
      for place in stride(from: 5, through: 0, by: -1) { bits.append(value >> place & 1 == 1) }
    }
    return (0..<bits.count / 8).map { byte in
      bits[(8 * byte)..<(8 * byte + 8)].reduce(0) { $0 << 1 | ($1 ? 1 : 0) }
    }
  }
}
