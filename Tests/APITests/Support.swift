import TestSupport

@testable import Protobuf

typealias Message = ProtobufMessage & Equatable

extension ProtobufDecodable {
  static func decode(_ bytes: [UInt8], arena: Arena = roomyArena()) throws(ProtobufError) -> Self {
    try decode(bytes.span, arena: arena)
  }

  /// The error that rejects the bytes, or nil if they are accepted.
  static func refusal(of bytes: [UInt8], arena: Arena = roomyArena()) -> ProtobufError? {
    do {
      _ = try decode(bytes.span, arena: arena)
      return nil
    } catch {
      return error
    }
  }
}

extension ProtobufEncodable {
  var bare: [UInt8] { encodeBare(arena: roomyArena()) }
}

/// A length-prefixed field, written by hand.
func field(_ number: UInt32, _ payload: [UInt8]) -> [UInt8] {
  varint(number << 3 | 2) + varint(UInt32(payload.count)) + payload
}

func field(_ number: UInt32, _ text: String) -> [UInt8] { field(number, Array(text.utf8)) }

func field(_ number: UInt32, value: UInt32) -> [UInt8] { varint(number << 3) + varint(value) }

func varint(_ value: UInt32) -> [UInt8] {
  value < 0x80 ? [UInt8(value)] : [UInt8(value & 0x7f) | 0x80] + varint(value >> 7)
}

/// SplitMix64: the same sequence for the same seed, on every machine.
struct SeededRandom: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}
