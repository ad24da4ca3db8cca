/// A parser that splits a body into messages: 1 byte flag, 4 bytes length (big endian), message.
///
/// HTTP/2 frames do not align with messages, so a message prefix may be split at any byte.
struct Framing {
  private static let headBytes = 5
  private let bytesMax: Int
  private var buffer: [UInt8] = []

  init(bytesMax: Int) { self.bytesMax = bytesMax }

  var isInsideMessage: Bool { !buffer.isEmpty }
  var bufferedBytes: Int { buffer.count }

  mutating func drop() { buffer = [] }

  /// Returns the bytes as a single message, or nil if they are anything else. Avoids a list for usual unary calls.
  func only(_ bytes: [UInt8]) -> Message? {
    guard buffer.isEmpty, bytes.count >= Framing.headBytes else { return nil }
    let length = Framing.length(bytes, at: 1)
    guard length == bytes.count - Framing.headBytes, judge(flag: bytes[0], length: length) == nil else { return nil }
    return Message(bytes: bytes, start: Framing.headBytes, end: bytes.count)
  }

  /// Appends every complete message to `messages`. Rejects a message by its prefix, before buffering the message.
  mutating func append(_ bytes: [UInt8], into messages: inout [Message]) -> Refusal? {
    guard !bytes.isEmpty else { return nil }
    // A usual request arrives in one piece, and its bytes are not copied.
    var whole = bytes
    if !buffer.isEmpty {
      buffer += bytes
      whole = buffer
      buffer = []
    }
    var start = 0
    while whole.count - start >= Framing.headBytes {
      if let refusal = judge(flag: whole[start], length: Framing.length(whole, at: start + 1)) { return refusal }
      let end = start + Framing.headBytes + Framing.length(whole, at: start + 1)
      guard end <= whole.count else { break }
      messages.append(Message(bytes: whole, start: start + Framing.headBytes, end: end))
      start = end
    }
    if start < whole.count { buffer = start == 0 ? whole : Array(whole[start...]) }
    return nil
  }

  private func judge(flag: UInt8, length: Int) -> Refusal? {
    switch flag {
    case 0: break
    // A request with a grpc-encoding other than identity has been rejected already.
    case 1: return Refusal(.internal, "the compressed flag is set but no encoding is agreed")
    default: return Refusal(.internal, "the flag byte of a message is 0 or 1, not \(flag)")
    }
    guard length <= bytesMax else {
      return Refusal(.resourceExhausted, "the message is larger than allowed (\(length) of \(bytesMax) bytes)")
    }
    return nil
  }

  private static func length(_ bytes: [UInt8], at start: Int) -> Int {
    Int(bytes[start]) << 24 | Int(bytes[start + 1]) << 16 | Int(bytes[start + 2]) << 8 | Int(bytes[start + 3])
  }
}
