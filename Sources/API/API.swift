// API: the messages and RPCs of proto/ as Swift types.
//
// Owns: conversion between messages and bytes. A message is scanned first (Scan), rewritten where protobuf-c would
// misread its form (Rewrite), unpacked by protobuf-c into a bounded Arena, copied out to a Swift value, and the arena
// is reset. Encoding is one copy into the arena and one pack behind the frame head. No other module sees protobuf-c
// and its structs. deploy/gen writes the folder Generated.
// Does not own: the meaning of any field, limits on the length of a message (Server), the gRPC framing of what comes
// in (GRPC).
// Read next: Decode.swift, Scan.swift, Arena.swift, then any file of Generated/.

/// A message that can be read. One arena serves all calls of a reactor, one after the other.
package protocol ProtobufDecodable: Sendable {
  static func decode(_ bytes: Span<UInt8>, arena: Arena) throws(ProtobufError) -> Self

  /// The bytes of one such message without the field of this name, as often as it stands at the top level. What is left
  /// is whole fields, as they came: messages that are left with the same bytes say the same but for that field.
  static func omitting(_ name: String, from bytes: Span<UInt8>) throws(ProtobufError) -> [UInt8]
}

/// A message that can be written.
package protocol ProtobufEncodable: Sendable {
  /// The full protobuf name, such as `google.rpc.ErrorInfo`.
  static var messageName: String { get }

  /// One gRPC frame: no compression flag, big-endian length, message (gRPC over HTTP/2, "Length-Prefixed-Message").
  func encode(arena: Arena) -> [UInt8]

  /// The message alone, as it stands in an Any or in `grpc-status-details-bin`.
  func encodeBare(arena: Arena) -> [UInt8]
}

/// Why bytes were not taken as a message.
package enum ProtobufError: Error, Equatable {
  /// These are no bytes of this message type: the fault of the caller's library.
  case malformed(ProtobufFault)
  /// A string holds what no text may hold (bad UTF-8, U+0000, endless marks): the fault of the caller. `field` is its
  /// path, such as `credential.password.email`.
  case text(field: String)
  /// Read, the message would need more memory than the arena's budget.
  case tooLarge
}

/// The stable reason of a malformed message, for the log.
package enum ProtobufFault: String, Sendable {
  case varint, tag, wireType = "wire_type", length, depth, unpack
}

/// All messages are both: tests and clients read what the server writes.
package typealias ProtobufMessage = ProtobufDecodable & ProtobufEncodable
