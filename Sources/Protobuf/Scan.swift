internal import CProtobufC

/// The validation of a message before protobuf-c unpacks it.
///
/// protobuf-c does not check nesting depth, UTF-8, U+0000 or the size of its allocations. protobuf-c unpacks every
/// message that the scan accepts as plain within the budget.
struct Scan {
  /// Whether the message has no unknown field and no repeated occurrence of a singular field.
  ///
  /// protobuf-c receives plain messages only. It would keep unknown fields, and its merging of repeated occurrences
  /// loses values and allocates an unpredictable amount.
  private(set) var isPlain = true
  private var budgetLeftBytes: Int
  private let depthMax: Int
  private let limitsMarks: Bool

  init(for arena: Arena) {
    budgetLeftBytes = arena.budgetBytes
    depthMax = arena.depthMax
    limitsMarks = arena.limitsMarks
  }

  /// Scans one message and its nested messages.
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

  /// Charges the memory of a string, byte string or message, in addition to its slot in the enclosing struct or array.
  @inline(__always)
  private mutating func payload(
    _ bytes: Span<UInt8>, _ range: Range<Int>, _ field: FieldSchema, depth: Int
  ) throws(ProtobufError) {
    switch field.type {
    case PROTOBUF_C_TYPE_STRING:
      guard bytes.isText(range, limitsMarks: limitsMarks) else { throw .text(field: field.name) }
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

  /// Charges the array slots of repeated values. Counts and checks packed numbers.
  private mutating func elements(
    _ bytes: Span<UInt8>, _ member: Member, _ field: FieldSchema, isFirst: Bool
  ) throws(ProtobufError) {
    let isPacked = member.wireType != field.wireType
    let count = isPacked ? try packedCount(bytes, member.payload, field.wireType) : 1
    // Rounding up the array's length costs at most one alignment.
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

  /// Returns the bytes that protobuf-c allocates to record field occurrences.
  ///
  /// Each occurrence takes 32 bytes: the first 16 on the stack, the others in slabs of doubling length.
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

/// The set of fields that occurred in one message. If two fields share a bit, the message is rewritten needlessly,
/// which costs only time.
private struct Seen {
  private var fields: UInt64 = 0
  private var oneofs: UInt64 = 0

  /// Inserts a field. Returns whether neither it nor another member of its oneof occurred before.
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
