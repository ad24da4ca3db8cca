import CProtobufC

@testable import API
@testable import Protobuf

/// Every message with every field set, once for each case of its oneof. A text is the name of its field, a number or a
/// count of seconds is its field number. So a test can check that each value is in its own field.
enum Samples {
  static let all: [any Message] = messageTypes.flatMap { type in
    guard let type = type as? any (Mapped & Message).Type else { fatalError("\(type) is not generated") }
    return samples(of: type)
  }

  /// The sample with the first case of each oneof.
  static func first<M: Message>(_: M.Type) -> M {
    guard let first = all.lazy.compactMap({ $0 as? M }).first else { fatalError("\(M.messageName) has no sample") }
    return first
  }

  private static func samples<M: Mapped & Message>(of type: M.Type) -> [any Message] {
    (0..<max(1, members(M.schema).values.max() ?? 0)).map { sample(case: $0) as M }
  }

  private static func sample<M: Mapped & Message>(case number: Int) -> M {
    do {
      return try M.decode(bytes(M.schema, case: number))
    } catch {
      fatalError("\(M.messageName): \(error)")
    }
  }

  /// The number of cases of each oneof.
  private static func members(_ schema: MessageSchema) -> [Int: Int] {
    (0..<schema.fieldCount).compactMap { schema[$0].oneof }.reduce(into: [:]) { $0[$1, default: 0] += 1 }
  }

  private static func bytes(_ schema: MessageSchema, case number: Int = 0) -> [UInt8] {
    let members = members(schema)
    var seen: [Int: Int] = [:]
    return (0..<schema.fieldCount).flatMap { index -> [UInt8] in
      let field = schema[index]
      if let oneof = field.oneof {
        defer { seen[oneof, default: 0] += 1 }
        guard seen[oneof, default: 0] == min(number, members[oneof, default: 1] - 1) else { return [] }
      }
      return value(of: field) + (field.isRepeated ? value(of: field) : [])
    }
  }

  /// Only their seconds are set.
  private static let times = ["google.protobuf.Timestamp", "google.protobuf.Duration"]

  private static func value(of schema: FieldSchema) -> [UInt8] {
    switch schema.type {
    case PROTOBUF_C_TYPE_STRING, PROTOBUF_C_TYPE_BYTES: field(schema.number, schema.name)
    case PROTOBUF_C_TYPE_BOOL, PROTOBUF_C_TYPE_ENUM: field(schema.number, value: 1)
    case PROTOBUF_C_TYPE_MESSAGE where times.contains(schema.message.name):
      field(schema.number, field(1, value: schema.number))
    case PROTOBUF_C_TYPE_MESSAGE: field(schema.number, bytes(schema.message))
    default: field(schema.number, value: schema.number)
    }
  }
}
