// Protobuf: the runtime of the generated messages.
//
// Owns: conversion between messages and bytes. Decoding first scans the message (Scan), and rewrites it if protobuf-c
// would misread its form (Rewrite). Then protobuf-c unpacks it into a bounded Arena, the result is copied to a Swift
// value, and the arena is reset. Encoding copies the value into the arena and packs it after the frame header. Only
// generated code in other modules sees the structs of protobuf-c.
// Does not own: the messages (API, Sealed), limits on the length of a message (Transport), the gRPC framing of incoming
// bytes (GRPC).
// Read next: Decode.swift, Scan.swift, Arena.swift.

/// A message that can be decoded. All calls of a reactor share one arena, one call after the other.
package protocol ProtobufDecodable: Sendable {
  static func decode(_ bytes: Span<UInt8>, arena: Arena) throws(ProtobufError) -> Self

  /// Returns the encoded message without every top-level occurrence of the named field.
  ///
  /// The remaining fields keep their bytes and order. Two messages with equal results differ at most in that field.
  static func omitting(_ name: String, from bytes: Span<UInt8>) throws(ProtobufError) -> [UInt8]
}

/// A message that can be encoded.
package protocol ProtobufEncodable: Sendable {
  /// The full protobuf name, such as `google.rpc.ErrorInfo`.
  static var messageName: String { get }

  /// Encodes one gRPC frame: compression flag 0, big-endian length, message (gRPC over HTTP/2,
  /// "Length-Prefixed-Message").
  func encode(arena: Arena) -> [UInt8]

  /// Encodes the message without a frame header, as in an Any or in `grpc-status-details-bin`.
  func encodeBare(arena: Arena) -> [UInt8]
}

/// The reason why decoding rejects bytes.
@usableFromInline package enum ProtobufError: Error, Equatable {
  /// The bytes are not an encoding of this message type. The fault is in the caller's library.
  case malformed(ProtobufFault)
  /// A string has invalid UTF-8, U+0000, or too many combining marks in a row. The fault is in the caller. `field` is
  /// the path of the string, such as `credential.password.email`.
  case text(field: String)
  /// The decoded message would need more memory than the arena's budget.
  case tooLarge
}

/// The stable name of the fault in a malformed message, for the log.
@usableFromInline package enum ProtobufFault: String, Sendable {
  case varint, tag, wireType = "wire_type", length, depth, unpack
}

/// An enum of proto.
package protocol ProtobufEnum: RawRepresentable<Int32>, CaseIterable, Hashable, Sendable {
  /// The name of the value without the enum's prefix, such as `TOKEN_EXPIRED` for `ERROR_REASON_TOKEN_EXPIRED`.
  var name: String { get }
}

extension ProtobufEnum {
  /// Finds the value by its name. Returns nil if this schema has no such value.
  package init?(name: String) {
    guard let found = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = found
  }
}

/// A message that can be decoded and encoded. All are, because tests and clients decode what the server encodes.
package typealias ProtobufMessage = ProtobufDecodable & ProtobufEncodable
