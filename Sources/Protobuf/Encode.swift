package import CProtobufC
internal import Glibc
package import Messages

// `@safe`: no pointer outlives the call.
extension Mapped {
  @safe package static var messageName: String { schema.name }

  @safe @inlinable package func encode(arena: Arena) -> [UInt8] {
    defer { arena.reset() }
    return unsafe framed(arena.form(self))
  }

  @safe @inlinable package func encodeBare(arena: Arena) -> [UInt8] {
    defer { arena.reset() }
    return unsafe packed(arena.form(self))
  }
}

@usableFromInline func framed(_ form: UnsafeRawPointer) -> [UInt8] {
  var frame = unsafe packed(form, headBytes: 5)
  let length = UInt32(frame.count - 5)
  // Byte 0 stays 0. The server never compresses, because a message can hold secrets and attacker-chosen text together
  // (CRIME, BREACH).
  for index in 1...4 { frame[index] = UInt8(truncatingIfNeeded: length >> UInt32(8 * (4 - index))) }
  return frame
}

/// - Parameter form: a generated struct, which begins with a `ProtobufCMessage`.
@usableFromInline func packed(_ form: UnsafeRawPointer, headBytes: Int = 0) -> [UInt8] {
  let form = unsafe form.assumingMemoryBound(to: ProtobufCMessage.self)
  let byteCount = unsafe headBytes + protobuf_c_message_get_packed_size(form)
  return unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
    unsafe buffer[..<headBytes].initialize(repeating: 0)
    count = unsafe headBytes + protobuf_c_message_pack(form, buffer.baseAddress! + headBytes)
  }
}

// Copies into the arena, one function for each kind of field.
extension Arena {
  @inlinable package func form<M: Mapped>(_ value: M) -> UnsafeMutablePointer<M.Form> {
    let form = unsafe reserve(MemoryLayout<M.Form>.size).bindMemory(to: M.Form.self, capacity: 1)
    unsafe M.blank(form)
    unsafe value.fill(form, self)
    return unsafe form
  }

  @inlinable package func one<M: Mapped>(_ value: M?) -> UnsafeMutablePointer<M.Form>? {
    guard let value else { return nil }
    return unsafe form(value)
  }

  @inlinable package func list<M: Mapped>(
    _ values: [M]
  ) -> (Int, UnsafeMutablePointer<UnsafeMutablePointer<M.Form>?>?) {
    unsafe array(values) { unsafe form($0) }
  }

  package func texts(_ values: [String]) -> (Int, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) {
    unsafe array(values) { unsafe text($0) }
  }

  @inlinable package func array<Value, Element>(
    _ values: [Value], _ element: (Value) -> Element
  ) -> (Int, UnsafeMutablePointer<Element>?) {
    if values.isEmpty { return (0, nil) }
    let elements = unsafe reserve(MemoryLayout<Element>.stride * values.count)
      .bindMemory(to: Element.self, capacity: values.count)
    for index in values.indices { unsafe (elements + index).initialize(to: element(values[index])) }
    return unsafe (values.count, elements)
  }

  /// Copies a string, even an empty one. protobuf-c treats a oneof as absent while it points to the shared default.
  package func text(_ value: String) -> UnsafeMutablePointer<CChar> {
    var value = value
    let (copy, count) = value.withUTF8 { utf8 in
      let copy = unsafe reserve(utf8.count + 1).bindMemory(to: CChar.self, capacity: utf8.count + 1)
      unsafe UnsafeMutableRawBufferPointer(start: copy, count: utf8.count).copyBytes(from: utf8)
      unsafe copy[utf8.count] = 0
      return unsafe (copy, utf8.count)
    }
    if unsafe strlen(copy) == count { return unsafe copy }
    // A C string ends at U+0000. Replacing it keeps the rest of the text.
    return unsafe text(value.split(separator: "\0", omittingEmptySubsequences: false).joined(separator: "\u{FFFD}"))
  }

  package func bytes(_ value: [UInt8]) -> ProtobufCBinaryData {
    let (count, copy) = unsafe array(value) { $0 }
    return unsafe ProtobufCBinaryData(len: count, data: copy)
  }

  package func bytes(_ values: [[UInt8]]) -> (Int, UnsafeMutablePointer<ProtobufCBinaryData>?) {
    unsafe array(values) { unsafe bytes($0) }
  }

  /// Converts milliseconds to a timestamp. Its nanoseconds are never negative, also before 1970.
  package func timestamp(_ millis: Int64?) -> UnsafeMutablePointer<Google__Protobuf__Timestamp>? {
    guard let millis else { return nil }
    let (seconds, rest) = millis.quotientAndRemainder(dividingBy: 1000)
    let stamp = unsafe blank(google__protobuf__timestamp__init)
    unsafe stamp.pointee.seconds = rest < 0 ? seconds - 1 : seconds
    unsafe stamp.pointee.nanos = Int32(rest < 0 ? rest + 1000 : rest) * 1_000_000
    return unsafe stamp
  }

  /// Converts milliseconds to a duration. Its seconds and nanoseconds have the same sign.
  package func duration(_ millis: Int64?) -> UnsafeMutablePointer<Google__Protobuf__Duration>? {
    guard let millis else { return nil }
    let (seconds, rest) = millis.quotientAndRemainder(dividingBy: 1000)
    let duration = unsafe blank(google__protobuf__duration__init)
    unsafe duration.pointee.seconds = seconds
    unsafe duration.pointee.nanos = Int32(rest) * 1_000_000
    return unsafe duration
  }

  private func blank<Form>(_ initialize: Blank<Form>) -> UnsafeMutablePointer<Form> {
    let form = unsafe reserve(MemoryLayout<Form>.size).bindMemory(to: Form.self, capacity: 1)
    unsafe initialize(form)
    return unsafe form
  }
}
