package import CProtobufC
package import Messages

// Generic functions that generated code calls are inlinable, because otherwise they run unspecialized in its module.

@usableFromInline package typealias Blank<Form> = (UnsafeMutablePointer<Form>?) -> Void

/// A Swift value that mirrors one generated C struct.
///
/// Each generated file provides `blank`, `init` and `fill`. The extension below derives everything else from them.
@usableFromInline package protocol Mapped: Sendable {
  associatedtype Form

  /// The generated initialiser: defaults and descriptor.
  static var blank: Blank<Form> { get }

  /// Copies a value out of the arena.
  init(_ form: UnsafePointer<Form>)

  /// Copies the value into the arena. `form` must be blank.
  func fill(_ form: UnsafeMutablePointer<Form>, _ arena: Arena)
}

extension Mapped {
  /// The descriptor, read from a blank struct because Swift cannot take the address of a C constant.
  @inlinable static var schema: MessageSchema {
    unsafe withUnsafeTemporaryAllocation(of: Form.self, capacity: 1) { form in
      unsafe blank(form.baseAddress)
      return unsafe MessageSchema(ofStruct: UnsafeRawPointer(form.baseAddress!))
    }
  }

  // `@safe`: no pointer outlives the call.
  @safe @inlinable package static func decode(
    _ bytes: Span<UInt8>, arena: Arena
  ) throws(ProtobufError) -> Self {
    defer { arena.reset() }
    let form = try unsafe arena.unpackedForm(bytes, schema)
    return unsafe Self(UnsafePointer(form.assumingMemoryBound(to: Form.self)))
  }

  @safe @inlinable package static func omitting(
    _ name: String, from bytes: Span<UInt8>
  ) throws(ProtobufError) -> [UInt8] {
    try schema.omitting(name, from: bytes)
  }
}

extension MessageSchema {
  @usableFromInline func omitting(_ name: String, from bytes: Span<UInt8>) throws(ProtobufError) -> [UInt8] {
    let omitted = (0..<fieldCount).first { self[$0].name == name }
    var kept: [UInt8] = []
    kept.reserveCapacity(bytes.count)
    var at = 0
    while at < bytes.count {
      let start = at
      let member = try bytes.member(&at, end: bytes.count)
      if let omitted, index(of: member) == omitted { continue }
      kept.append(bytes, start..<at)
    }
    return kept
  }
}

/// Copies out of the arena, one function for each kind of field. A nil pointer is an absent message or an empty list.
package enum Field {
  package static func text(_ pointer: UnsafePointer<CChar>?) -> String {
    guard let pointer = unsafe pointer else { return "" }
    return unsafe String(cString: pointer)
  }

  package static func texts(
    _ count: Int, _ pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
  ) -> [String] {
    guard let pointers = unsafe pointers else { return [] }
    return (0..<count).map { unsafe text(pointers[$0]) }
  }

  package static func bytes(_ data: ProtobufCBinaryData) -> [UInt8] {
    unsafe [UInt8](UnsafeBufferPointer(start: data.data, count: data.len))
  }

  package static func bytes(_ count: Int, _ data: UnsafeMutablePointer<ProtobufCBinaryData>?) -> [[UInt8]] {
    unsafe UnsafeBufferPointer(start: data, count: count).map { unsafe bytes($0) }
  }

  package static func numbers(_ count: Int, _ numbers: UnsafeMutablePointer<Int32>?) -> [Int32] {
    unsafe [Int32](UnsafeBufferPointer(start: numbers, count: count))
  }

  /// Nil elements: the number is of a newer schema.
  @inlinable package static func cases<Form, Case>(
    _ count: Int, _ forms: UnsafeMutablePointer<Form>?, _ convert: (Form) -> Case?
  ) -> [Case?] {
    unsafe UnsafeBufferPointer(start: forms, count: count).map(convert)
  }

  @inlinable package static func one<M: Mapped>(_ form: UnsafeMutablePointer<M.Form>?) -> M? {
    guard let form = unsafe form else { return nil }
    return unsafe M(UnsafePointer(form))
  }

  @inlinable package static func list<M: Mapped>(
    _ count: Int, _ forms: UnsafeMutablePointer<UnsafeMutablePointer<M.Form>?>?
  ) -> [M] {
    guard let forms = unsafe forms else { return [] }
    return (0..<count).compactMap { unsafe one(forms[$0]) }
  }

  package static func millis(_ timestamp: UnsafeMutablePointer<Google__Protobuf__Timestamp>?) -> Int64? {
    guard let timestamp = unsafe timestamp?.pointee else { return nil }
    return unsafe millis(seconds: timestamp.seconds, nanos: timestamp.nanos)
  }

  package static func millis(_ duration: UnsafeMutablePointer<Google__Protobuf__Duration>?) -> Int64? {
    guard let duration = unsafe duration?.pointee else { return nil }
    return unsafe millis(seconds: duration.seconds, nanos: duration.nanos)
  }

  /// Converts to milliseconds and saturates on overflow, because an unauthenticated client chooses the seconds.
  private static func millis(seconds: Int64, nanos: Int32) -> Int64 {
    let (whole, overflowed) = seconds.multipliedReportingOverflow(by: 1000)
    let (sum, overflowedToo) = whole.addingReportingOverflow(Int64(nanos / 1_000_000))
    if overflowed || overflowedToo { return seconds < 0 ? .min : .max }
    return sum
  }
}
