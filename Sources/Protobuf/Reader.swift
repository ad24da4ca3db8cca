internal import Encodings

/// One encoded field occurrence.
package struct Member {
  package let number: UInt32
  let wireType: WireType
  /// The position of the value, without tag and length prefix.
  package let payload: Range<Int>
}

/// The wire types of proto3. Types 3 and 4 (groups) exist in proto2 only; 6 and 7 were never defined.
enum WireType: UInt8 {
  case varint = 0
  case fixed64 = 1
  case lengthPrefixed = 2
  case fixed32 = 5
}

// Every read checks its bounds. The bytes come from the network, and a bug must trap instead of reading out of bounds.
extension Span<UInt8> {
  /// Reads the field at `at`, advances `at` to the next field, and returns the field's number, type and position.
  @inline(__always)
  package func member(_ at: inout Int, end: Int) throws(ProtobufError) -> Member {
    let tag = try varint32(&at, end: end, fault: .tag)
    guard tag >> 3 != 0 else { throw .malformed(.tag) }
    guard let wireType = WireType(rawValue: UInt8(truncatingIfNeeded: tag & 7)) else { throw .malformed(.wireType) }
    var start = at
    switch wireType {
    case .varint:
      try skipVarint(&at, end: end)
    case .fixed64:
      try skip(8, &at, end: end)
    case .fixed32:
      try skip(4, &at, end: end)
    case .lengthPrefixed:
      let length = try varint32(&at, end: end, fault: .length)
      start = at
      try skip(Int(length), &at, end: end)
    }
    return Member(number: tag >> 3, wireType: wireType, payload: start..<at)
  }

  /// Reads a tag or length: 32 bits in at most five bytes. protobuf-c would silently drop the excess bits.
  @inline(__always)
  func varint32(_ at: inout Int, end: Int, fault: ProtobufFault) throws(ProtobufError) -> UInt32 {
    var value: UInt32 = 0
    var shift: UInt32 = 0
    while at < end {
      let byte = self[at]
      at += 1
      if shift == 28 && byte > 0x0f { throw .malformed(fault) }
      value |= UInt32(byte & 0x7f) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    throw .malformed(fault)
  }

  /// Skips a value: 64 bits in at most ten bytes, so the tenth byte is 0 or 1.
  @inline(__always)
  func skipVarint(_ at: inout Int, end: Int) throws(ProtobufError) {
    let start = at
    while at < end {
      let byte = self[at]
      at += 1
      if at - start == 10 && byte > 1 { throw .malformed(.varint) }
      if byte < 0x80 { return }
    }
    throw .malformed(.varint)
  }

  @inline(__always)
  private func skip(_ count: Int, _ at: inout Int, end: Int) throws(ProtobufError) {
    guard count <= end - at else { throw .malformed(.length) }
    at += count
  }

  /// Whether the bytes are valid UTF-8 (Unicode 3.9, table 3-7) without U+0000, which a C string cannot carry.
  ///
  /// - Parameter limitsMarks: also limits combining marks, so that comparing the text takes time proportional to its
  ///   length.
  func isText(_ range: Range<Int>, limitsMarks: Bool) -> Bool {
    var at = range.lowerBound
    // Check eight bytes at a time while none is 0 or above 0x7f. Most texts are ASCII up to the end.
    while range.upperBound - at >= 8 {
      let word = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: at, as: UInt64.self)
      if (word | (word &- 0x0101_0101_0101_0101)) & 0x8080_8080_8080_8080 != 0 { break }
      at += 8
    }
    var isASCII = true
    for index in at..<range.upperBound {
      if self[index] == 0 { return false }
      if self[index] > 0x7f { isASCII = false }
    }
    if isASCII { return true }
    guard let text = try? UTF8Span(validating: extracting(range)) else { return false }
    return !limitsMarks || StreamSafeText.holds(text)
  }
}

extension [UInt8] {
  mutating func append(_ bytes: Span<UInt8>, _ range: Range<Int>) {
    for index in range { append(bytes[index]) }
  }
}
