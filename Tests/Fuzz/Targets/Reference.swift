import API

/// The meaning of protobuf bytes, by the embedded descriptors: a second, slow decoder that shares no code with API.
///
/// The last occurrence of a singular field counts, and the last member of a oneof. Two occurrences of a message count
/// as one with the bytes of both. A singular field with its default value is absent, except for members of a oneof.
enum Reference {
  indirect enum Meaning: Equatable {
    case number(UInt64)
    case text([UInt8])
    case message([UInt32: [Meaning]])
  }

  /// Nil: there is no such message, or a text in it is not valid UTF-8.
  static func read(_ bytes: [UInt8], as name: String) -> [UInt32: [Meaning]]? {
    guard let fields = schema[name] else { fatalError("no descriptor of \(name)") }
    return read(bytes, fields)
  }

  /// One field occurrence.
  private enum Value {
    case varint(UInt64)
    case fixed([UInt8])
    case prefixed([UInt8])
  }

  struct Field {
    var number: UInt32
    /// The numbers of descriptor.proto.
    var type: UInt64
    var isRepeated: Bool
    var typeName: String
    var oneof: UInt64?

    var isMessage: Bool { type == 11 }
    var isPrefixed: Bool { type == 9 || isMessage || type == 12 }
  }

  private static func read(_ bytes: [UInt8], _ fields: [UInt32: Field]) -> [UInt32: [Meaning]]? {
    guard let members = members(bytes) else { return nil }
    var meanings: [UInt32: [Meaning]] = [:]
    // The bytes of all occurrences of a singular message.
    var joined: [UInt32: [UInt8]] = [:]
    for (number, value) in members {
      guard let field = fields[number] else { continue }
      guard let read = meaning(value, field) else { return nil }
      guard !read.isEmpty else { continue }
      if let oneof = field.oneof {
        for other in fields.values where other.oneof == oneof && other.number != number {
          meanings[other.number] = nil
          joined[other.number] = nil
        }
      }
      if field.isRepeated {
        meanings[number, default: []] += read
      } else if case .prefixed(let payload) = value, field.isMessage {
        joined[number, default: []] += payload
      } else {
        meanings[number] = read
      }
    }
    for (number, payload) in joined {
      guard let field = fields[number], let whole = message(payload, field) else { return nil }
      meanings[number] = [whole]
    }
    for (number, field) in fields where mapEntries.contains(field.typeName) {
      meanings[number] = lastOfEachKey(meanings[number] ?? [])
    }
    return meanings.filter { number, values in
      !values.isEmpty && (fields[number]!.isRepeated || fields[number]!.oneof != nil || !isDefault(values[0]))
    }
  }

  /// The last entry of each key of a map counts, in any order.
  private static func lastOfEachKey(_ entries: [Meaning]) -> [Meaning] {
    var byKey: [[UInt8]: Meaning] = [:]
    for entry in entries {
      guard case .message(let members) = entry else { continue }
      if case .text(let key)? = members[1]?.first { byKey[key] = entry } else { byKey[[]] = entry }
    }
    return byKey.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
  }

  private static func isDefault(_ meaning: Meaning) -> Bool { meaning == .number(0) || meaning == .text([]) }

  /// Empty: no packed number, or an unknown field because of its wire type. Nil: malformed.
  private static func meaning(_ value: Value, _ field: Field) -> [Meaning]? {
    switch value {
    case .varint(let number): return field.isPrefixed ? [] : [.number(narrowed(number, field))]
    case .fixed: return []
    case .prefixed(let payload):
      if field.isMessage { return message(payload, field).map { [$0] } }
      if field.isPrefixed { return field.type == 9 && !isText(payload) ? nil : [.text(payload)] }
      guard field.isRepeated else { return [] }
      var at = 0
      var numbers: [Meaning] = []
      while at < payload.count {
        guard let number = varint(payload, &at) else { return nil }
        numbers.append(.number(narrowed(number, field)))
      }
      return numbers
    }
  }

  private static func message(_ bytes: [UInt8], _ field: Field) -> Meaning? {
    guard let fields = schema[field.typeName], let read = read(bytes, fields) else { return nil }
    let isTime = ["google.protobuf.Duration", "google.protobuf.Timestamp"].contains(field.typeName)
    return isTime ? .number(UInt64(bitPattern: millis(read))) : .message(read)
  }

  /// The values of API have milliseconds, so this rounds in the same way.
  private static func millis(_ time: [UInt32: [Meaning]]) -> Int64 {
    func part(_ number: UInt32) -> Int64 {
      if case .number(let value)? = time[number]?.first { Int64(bitPattern: value) } else { 0 }
    }
    let exact = Int128(part(1)) * 1_000 + Int128(part(2) / 1_000_000)
    return Int64(clamping: exact)
  }

  private static func narrowed(_ number: UInt64, _ field: Field) -> UInt64 {
    switch field.type {
    case 8: return number == 0 ? 0 : 1
    case 5, 14:
      let narrow = Int64(Int32(truncatingIfNeeded: number))
      // API decodes every unknown number of an enum as nil, and encodes nil as the first value.
      let isUnknown = field.type == 14 && !(0...3).contains(narrow)
      return UInt64(bitPattern: isUnknown ? 0 : narrow)
    default: return number
    }
  }

  private static func isText(_ bytes: [UInt8]) -> Bool {
    !bytes.contains(0) && String(validating: bytes, as: UTF8.self) != nil
  }

  // MARK: The wire

  private static func members(_ bytes: [UInt8]) -> [(UInt32, Value)]? {
    var members: [(UInt32, Value)] = []
    var at = 0
    func take(_ count: UInt64) -> [UInt8]? {
      guard count <= UInt64(bytes.count - at) else { return nil }
      defer { at += Int(count) }
      return Array(bytes[at..<at + Int(count)])
    }
    while at < bytes.count {
      guard let tag = varint32(bytes, &at), tag >> 3 != 0 else { return nil }
      let value: Value?
      switch tag & 7 {
      case 0: value = varint(bytes, &at).map(Value.varint)
      case 1: value = take(8).map(Value.fixed)
      case 2: value = varint32(bytes, &at).flatMap(take).map(Value.prefixed)
      case 5: value = take(4).map(Value.fixed)
      default: return nil
      }
      guard let value else { return nil }
      members.append((UInt32(tag >> 3), value))
    }
    return members
  }

  /// Tags and lengths: 32 bits in at most five bytes.
  private static func varint32(_ bytes: [UInt8], _ at: inout Int) -> UInt64? {
    let start = at
    guard let number = varint(bytes, &at), number <= UInt32.max, at - start <= 5 else { return nil }
    return number
  }

  private static func varint(_ bytes: [UInt8], _ at: inout Int) -> UInt64? {
    var number: UInt64 = 0
    for place in 0..<10 {
      guard at < bytes.count else { return nil }
      let byte = bytes[at]
      at += 1
      if place == 9 && byte > 1 { return nil }
      number |= UInt64(byte & 0x7F) << UInt64(7 * place)
      if byte < 0x80 { return number }
    }
    return nil
  }

  // MARK: The descriptors (google/protobuf/descriptor.proto)

  static let schema = descriptors.fields
  /// Messages that are entries of a map.
  private static let mapEntries = descriptors.mapEntries

  private static let descriptors: (fields: [String: [UInt32: Field]], mapEntries: Set<String>) = {
    var schema: [String: [UInt32: Field]] = [:]
    var mapEntries: Set<String> = []
    for service in DescriptorSet.services {
      guard let file = DescriptorSet.file(containingSymbol: service) else { fatalError("no file of \(service)") }
      for file in DescriptorSet.withDependencies(file) {
        let package = String(decoding: texts(file.bytes, 2).first ?? [], as: UTF8.self)
        for message in texts(file.bytes, 4) { add(message, to: &schema, &mapEntries, scope: package) }
      }
    }
    return (schema, mapEntries)
  }()

  private static func add(
    _ message: [UInt8], to schema: inout [String: [UInt32: Field]], _ mapEntries: inout Set<String>, scope: String
  ) {
    let name = scope + "." + String(decoding: texts(message, 1).first ?? [], as: UTF8.self)
    for inner in texts(message, 3) { add(inner, to: &schema, &mapEntries, scope: name) }
    if let options = texts(message, 7).first, number(options, 7) == 1 { mapEntries.insert(name) }
    let fields = texts(message, 2).map { field in
      Field(
        number: UInt32(number(field, 3) ?? 0), type: number(field, 5) ?? 0, isRepeated: number(field, 4) == 3,
        // Full names begin with a dot.
        typeName: String(decoding: texts(field, 6).first?.dropFirst() ?? [], as: UTF8.self), oneof: number(field, 9))
    }
    schema[name] = Dictionary(uniqueKeysWithValues: fields.map { ($0.number, $0) })
  }

  private static func texts(_ bytes: [UInt8], _ number: UInt32) -> [[UInt8]] {
    (members(bytes) ?? []).compactMap { member in
      if member.0 == number, case .prefixed(let payload) = member.1 { payload } else { nil }
    }
  }

  private static func number(_ bytes: [UInt8], _ number: UInt32) -> UInt64? {
    for case (number, .varint(let value)) in members(bytes) ?? [] { return value }
    return nil
  }
}
