internal import CProtobufC

// Messages as the generated C code has them, for those who call its stubs. A descriptor is that of protobuf-c.

extension Arena {
  /// The struct that `bytes` unpack to, after the same scan that every message goes through; it is gone when `body`
  /// returns.
  @unsafe package func withForm(
    _ bytes: Span<UInt8>, descriptor: UnsafeRawPointer, _ body: (UnsafeRawPointer) -> Void
  ) throws(WireError) {
    let schema = unsafe MessageSchema(descriptor.assumingMemoryBound(to: ProtobufCMessageDescriptor.self))
    defer { reset() }
    unsafe body(try unpackedForm(bytes, schema))
  }

  /// Lives until the next reset.
  func unpackedForm(_ bytes: Span<UInt8>, _ schema: MessageSchema) throws(WireError) -> UnsafeMutableRawPointer {
    var scan = Scan(budgetBytes: budgetBytes, depthMax: depthMax)
    try scan.message(bytes, bytes.indices, schema)
    if scan.isPlain { return try unsafe unpackedPlain(bytes, schema) }
    let plain = try Rewrite.plain(bytes, bytes.indices, schema)
    scan = Scan(budgetBytes: budgetBytes, depthMax: depthMax)
    try scan.message(plain.span, plain.indices, schema)
    return try unsafe unpackedPlain(plain.span, schema)
  }

  private func unpackedPlain(
    _ bytes: Span<UInt8>, _ schema: MessageSchema
  ) throws(WireError) -> UnsafeMutableRawPointer {
    guard let form = unsafe unpack(bytes, schema) else { throw .malformed(.unpack) }
    return unsafe form
  }
}

/// One gRPC frame of a struct, which begins with a ProtobufCMessage as every generated one does.
@unsafe package func frame(ofForm form: UnsafeRawPointer) -> [UInt8] {
  unsafe framed(form.assumingMemoryBound(to: ProtobufCMessage.self))
}
