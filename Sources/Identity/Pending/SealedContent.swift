package import Protobuf
import Store

/// A value that the store keeps sealed, as a message.
package protocol SealedContent {
  associatedtype Message: ProtobufMessage

  /// Throws `MissingField` if the message lacks a field that every row has.
  init(_ message: Message) throws

  var message: Message { get }
}

extension SealedContent {
  package var packed: [UInt8] { message.packed }

  package init?(packed: [UInt8]) {
    guard let message = Message(packed: packed), let value = try? Self(message) else { return nil }
    self = value
  }
}

extension Environment {
  /// Opens and decodes the sealed content of a row.
  /// - Parameter failure: returns the error of the call for a reason, which only the log states.
  func openContent<Content>(
    _ sealed: [UInt8], context: [UInt8], _ decode: ([UInt8]) -> Content?, or failure: (String) -> Failure
  ) throws(Failure) -> Content {
    guard let packed = cryptography.open(sealed, context: context) else {
      throw failure("the row was changed after it was sealed")
    }
    guard let content = decode(packed) else { throw failure("the sealed content is of another version") }
    return content
  }
}

extension ProtobufEncodable {
  /// The bytes to seal. The arena is not kept, because these messages are rare.
  var packed: [UInt8] { encodeBare(arena: Arena(budgetBytes: 4096)) }
}

extension ProtobufDecodable {
  /// Decodes opened bytes. Nil: they are no such message. Fields of newer versions are skipped.
  init?(packed: [UInt8]) {
    // A provider's document may have any number of combining marks.
    let arena = Arena(budgetBytes: 16_384 + 8 * packed.count, limitsMarks: false)
    guard let message = try? Self.decode(packed.span, arena: arena) else { return nil }
    self = message
  }
}

struct MissingField: Error {}

extension Optional {
  /// The value of a field that every row has.
  func required() throws(MissingField) -> Wrapped {
    guard let self else { throw MissingField() }
    return self
  }
}

extension String {
  /// The text of a field that is not empty in any row.
  func required() throws(MissingField) -> String { try presence.required() }

  /// Nil if empty, for fields where that means none.
  var presence: String? { isEmpty ? nil : self }
}

extension [UInt8] {
  /// The bytes of a field that is not empty in any row.
  func required() throws(MissingField) -> [UInt8] { try (isEmpty ? nil : self).required() }
}

extension Digest {
  init(sealed bytes: [UInt8]) throws(MissingField) {
    guard bytes.count == 32 else { throw MissingField() }
    self.init(bytes)
  }
}
