internal import CProtobufC

/// Looks a message over before protobuf-c reads it, because protobuf-c checks neither depth, nor UTF-8, nor U+0000, nor
/// what it is going to allocate. What the scan accepts as plain, protobuf-c unpacks within the budget.
struct Scan {
  /// No unknown field, and no singular field twice. Only plain bytes go to protobuf-c: it would keep the unknown, and
  /// its merging of what came twice loses values and allocates more than can be told beforehand.
  private(set) var isPlain = true
  private var budgetLeftBytes: Int
  private let depthMax: Int

  init(budgetBytes: Int, depthMax: Int) {
    budgetLeftBytes = budgetBytes
    self.depthMax = depthMax
  }

  /// Walks one message and those inside of it.
  mutating func message(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ schema: MessageSchema, depth: Int = 1
  ) throws(ProtobufError) {
    guard depth <= depthMax else { throw .malformed(.depth) }
    try take(Arena.rounded(schema.structBytes))
    var at = range.lowerBound
    var memberCount = 0
    var seen = Seen()
    while at < range.upperBound {
      let member = try bytes.member(&at, end: range.upperBound)
      guard let index = schema.index(of: member) else {
        isPlain = false
        continue
      }
      memberCount += 1
      let field = schema[index]
      let isNew = seen.insert(index, field)
      if field.isRepeated {
        try elements(bytes, member, field, isFirst: isNew)
      } else if !isNew {
        isPlain = false
      }
      try payload(bytes, member.payload, field, depth: depth)
    }
    try take(Scan.memberTableBytes(memberCount))
  }

  /// What one string, byte string or message takes beside its place in the struct or array around it.
  @inline(__always)
  private mutating func payload(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ field: FieldSchema, depth: Int
  ) throws(ProtobufError) {
    switch field.type {
    case PROTOBUF_C_TYPE_STRING:
      guard bytes.isText(range) else { throw .text(field: field.name) }
      try take(Arena.rounded(range.count + 1))
    case PROTOBUF_C_TYPE_BYTES:
      try take(Arena.rounded(range.count))
    case PROTOBUF_C_TYPE_MESSAGE:
      do {
        try message(bytes, range, field.message, depth: depth + 1)
      } catch .text(let inner) {
        throw .text(field: field.name + "." + inner)
      }
    default:
      break
    }
  }

  /// The place of repeated values in their array; packed numbers are counted and checked here.
  private mutating func elements(
    _ bytes: Span<UInt8>, _ member: Member, _ field: FieldSchema, isFirst: Bool
  ) throws(ProtobufError) {
    let isPacked = member.wireType != field.wireType
    let count = isPacked ? try packedCount(bytes, member.payload, field.wireType) : 1
    // The array's length is rounded up once.
    try take(count * field.elementBytes + (isFirst ? Arena.alignment : 0))
  }

  private func packedCount(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ wireType: WireType
  ) throws(ProtobufError) -> Int {
    if wireType != .varint {
      let elementBytes = wireType == .fixed32 ? 4 : 8
      guard range.count % elementBytes == 0 else { throw .malformed(.length) }
      return range.count / elementBytes
    }
    var at = range.lowerBound
    var count = 0
    while at < range.upperBound {
      try bytes.skipVarint(&at, end: range.upperBound)
      count += 1
    }
    return count
  }

  private mutating func take(_ byteCount: Int) throws(ProtobufError) {
    budgetLeftBytes -= byteCount
    if budgetLeftBytes < 0 { throw .tooLarge }
  }

  /// protobuf-c notes every field occurrence in 32 bytes: the first 16 on the stack, then in slabs, each twice as long
  /// as the one before.
  private static func memberTableBytes(_ memberCount: Int) -> Int {
    var slab = 16
    var covered = 16
    var total = 0
    while covered < memberCount {
      slab *= 2
      covered += slab
      total += slab * 32
    }
    return total
  }
}

/// Which fields of one message were met. Where two share a bit, the second counts as met although it was not: then the
/// message is rewritten without need, which costs time and nothing else.
private struct Seen {
  private var fields: UInt64 = 0
  private var oneofs: UInt64 = 0

  /// Whether neither the field nor another member of its oneof was met before.
  mutating func insert(_ index: Int, _ field: FieldSchema) -> Bool {
    let isNew = Seen.insert(index, into: &fields)
    guard let oneof = field.oneof else { return isNew }
    return Seen.insert(oneof / MemoryLayout<UInt32>.size, into: &oneofs) && isNew
  }

  private static func insert(_ place: Int, into set: inout UInt64) -> Bool {
    let bit: UInt64 = 1 << UInt64(truncatingIfNeeded: place & 63)
    defer { set |= bit }
    return set & bit == 0
  }
}
