internal import CProtobufC

/// A message descriptor of protobuf-c. Safe to copy, because descriptors are constants of the generated code.
@safe
@usableFromInline
struct MessageSchema {
  let descriptor: UnsafePointer<ProtobufCMessageDescriptor>

  fileprivate init(_ descriptor: UnsafePointer<ProtobufCMessageDescriptor>) {
    unsafe self.descriptor = descriptor
  }

  /// - Parameter form: a generated struct, which begins with a `ProtobufCMessage`.
  @usableFromInline init(ofStruct form: UnsafeRawPointer) {
    unsafe self.init(form.load(as: ProtobufCMessage.self).descriptor)
  }

  var name: String { unsafe String(cString: descriptor.pointee.name) }
  var fieldCount: Int { unsafe Int(descriptor.pointee.n_fields) }

  /// The size of the generated struct.
  var structBytes: Int { unsafe descriptor.pointee.sizeof_message }

  subscript(index: Int) -> FieldSchema {
    precondition(0 <= index && index < fieldCount)
    return unsafe FieldSchema(descriptor: descriptor.pointee.fields + index)
  }

  /// Returns the index of the field, or nil for an unknown number or a wire type that the field cannot have. Both are
  /// unknown fields (protobuf encoding, "Unknown Fields").
  @inline(__always)
  func index(of member: Member) -> Int? {
    guard let index = index(of: member.number), self[index].accepts(member.wireType) else { return nil }
    return index
  }

  @inline(__always)
  private func index(of number: UInt32) -> Int? {
    guard fieldCount > 0 else { return nil }
    // Fields are sorted by number, mostly without gaps.
    let guess = Int(number) - Int(self[0].number)
    if guess >= 0 && guess < fieldCount && self[guess].number == number { return guess }
    return (0..<fieldCount).first { self[$0].number == number }
  }
}

@safe
struct FieldSchema {
  fileprivate let descriptor: UnsafePointer<ProtobufCFieldDescriptor>

  var name: String { unsafe String(cString: descriptor.pointee.name) }
  var number: UInt32 { unsafe descriptor.pointee.id }
  var type: ProtobufCType { unsafe descriptor.pointee.type }
  var isRepeated: Bool { unsafe descriptor.pointee.label == PROTOBUF_C_LABEL_REPEATED }
  var isMessage: Bool { type == PROTOBUF_C_TYPE_MESSAGE }

  /// The schema of a message field.
  var message: MessageSchema {
    unsafe MessageSchema(descriptor.pointee.descriptor.assumingMemoryBound(to: ProtobufCMessageDescriptor.self))
  }

  /// The struct offset of the case of the field's oneof, which identifies the oneof; nil if there is none.
  var oneof: Int? {
    let isMember = unsafe descriptor.pointee.flags & PROTOBUF_C_FIELD_FLAG_ONEOF.rawValue != 0
    return isMember ? unsafe Int(descriptor.pointee.quantifier_offset) : nil
  }

  /// The wire type of one value of the field.
  var wireType: WireType {
    switch type {
    case PROTOBUF_C_TYPE_STRING, PROTOBUF_C_TYPE_BYTES, PROTOBUF_C_TYPE_MESSAGE: .lengthPrefixed
    case PROTOBUF_C_TYPE_FIXED32, PROTOBUF_C_TYPE_SFIXED32, PROTOBUF_C_TYPE_FLOAT: .fixed32
    case PROTOBUF_C_TYPE_FIXED64, PROTOBUF_C_TYPE_SFIXED64, PROTOBUF_C_TYPE_DOUBLE: .fixed64
    default: .varint
    }
  }

  /// Whether the field can have this wire type. Repeated numbers may be packed or not, regardless of the schema.
  func accepts(_ wireType: WireType) -> Bool {
    wireType == self.wireType || (wireType == .lengthPrefixed && isRepeated)
  }

  /// The size of one element in the array of a repeated field.
  var elementBytes: Int {
    switch type {
    // Length and pointer.
    case PROTOBUF_C_TYPE_BYTES: 16
    // A pointer or a number.
    case PROTOBUF_C_TYPE_STRING, PROTOBUF_C_TYPE_MESSAGE, PROTOBUF_C_TYPE_INT64, PROTOBUF_C_TYPE_SINT64,
      PROTOBUF_C_TYPE_SFIXED64, PROTOBUF_C_TYPE_UINT64, PROTOBUF_C_TYPE_FIXED64, PROTOBUF_C_TYPE_DOUBLE: 8
    default: 4
    }
  }
}
