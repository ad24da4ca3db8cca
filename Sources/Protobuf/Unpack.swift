extension Arena {
  /// Scans the bytes and unpacks them into a struct, which is valid until the next reset.
  @usableFromInline func unpackedForm(
    _ bytes: Span<UInt8>, _ schema: MessageSchema
  ) throws(ProtobufError) -> UnsafeMutableRawPointer {
    var scan = Scan(for: self)
    try scan.message(bytes, bytes.indices, schema)
    if scan.isPlain { return try unsafe unpackedPlain(bytes, schema) }
    let plain = try Rewrite.plain(bytes, bytes.indices, schema)
    scan = Scan(for: self)
    try scan.message(plain.span, plain.indices, schema)
    return try unsafe unpackedPlain(plain.span, schema)
  }

  private func unpackedPlain(
    _ bytes: Span<UInt8>, _ schema: MessageSchema
  ) throws(ProtobufError) -> UnsafeMutableRawPointer {
    guard let form = unsafe unpack(bytes, schema) else { throw .malformed(.unpack) }
    return unsafe form
  }
}
