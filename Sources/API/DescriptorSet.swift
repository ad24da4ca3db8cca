internal import Messages
internal import Protobuf

/// The schema of all services, for the reflection protocol. protoc compiles the files of proto/, and the build embeds
/// the result.
package enum DescriptorSet {
  package struct File: Sendable, Equatable {
    /// The path that imports use, such as `latchkey/v1/types.proto`.
    package let name: String
    /// The encoded google.protobuf.FileDescriptorProto.
    package let bytes: [UInt8]
    /// Names of the directly imported files.
    package let dependencies: [String]

    fileprivate let services: [String]
    fileprivate let methods: [String]
    /// Full names of services, their methods, messages with their fields and oneofs, and enums with their values.
    fileprivate let symbols: [String]
    fileprivate let messages: [String]
  }

  /// Full names of all services, sorted.
  package static let services: [String] = files.flatMap(\.services).sorted()

  /// Paths of all methods, `/package.Service/Method`.
  package static let methods: [String] = files.flatMap(\.methods)

  package static func file(named name: String) -> File? { files.first { $0.name == name } }

  package static func file(containingSymbol symbol: String) -> File? { files.first { $0.symbols.contains(symbol) } }

  package static func hasMessage(named name: String) -> Bool { files.contains { $0.messages.contains(name) } }

  /// Returns the file and all its direct and indirect imports, each once. A client needs them to parse the file.
  package static func withDependencies(_ file: File) -> [File] {
    var found = [file]
    var next = 0
    while next < found.count {
      for name in found[next].dependencies where !found.contains(where: { $0.name == name }) {
        if let dependency = self.file(named: name) { found.append(dependency) }
      }
      next += 1
    }
    return found
  }

  private static let files: [File] = {
    let set = unsafe [UInt8](UnsafeBufferPointer(start: latchkey_descriptor_set, count: latchkey_descriptor_set_bytes))
    do {
      return try values(in: set, of: 1).map(file)
    } catch {
      fatalError("the embedded descriptor set is malformed: \(error)")
    }
  }()

  // Field numbers below are those of google/protobuf/descriptor.proto.

  private static func file(_ bytes: [UInt8]) throws(ProtobufError) -> File {
    let package = try text(bytes, 2)
    let services = try values(in: bytes, of: 6)
    let names = try services.map { bytes throws(ProtobufError) in try text(bytes, 1, after: package) }
    var symbols = names
    var methods: [String] = []
    for (service, name) in zip(services, names) {
      for method in try values(in: service, of: 2) {
        symbols.append(try text(method, 1, after: name))
        methods.append("/\(name)/\(try text(method, 1))")
      }
    }
    let types = try types(bytes, messages: 4, enums: 5, after: package)
    symbols += types.flatMap(\.symbols)
    let dependencies = try values(in: bytes, of: 3).map { String(decoding: $0, as: UTF8.self) }
    return File(
      name: try text(bytes, 1), bytes: bytes, dependencies: dependencies, services: names, methods: methods,
      symbols: symbols, messages: types.filter(\.isMessage).map(\.name))
  }

  private struct NamedType {
    let name: String
    let isMessage: Bool
    /// Names that a client can look up: the type and its members, without nested types.
    let symbols: [String]
  }

  /// Returns the messages and enums of a file or of a message, including nested ones.
  private static func types(
    _ bytes: [UInt8], messages: UInt32, enums: UInt32, after scope: String
  ) throws(ProtobufError) -> [NamedType] {
    var types: [NamedType] = []
    for found in try values(in: bytes, of: enums) {
      let name = try text(found, 1, after: scope)
      // Enum values are siblings of their enum (descriptor.proto, EnumValueDescriptorProto). Some clients look them up
      // inside the enum, so both names are listed.
      let symbols = try fullNames(in: found, of: 2, after: scope) + fullNames(in: found, of: 2, after: name)
      types.append(NamedType(name: name, isMessage: false, symbols: [name] + symbols))
    }
    for found in try values(in: bytes, of: messages) {
      let name = try text(found, 1, after: scope)
      let symbols = try fullNames(in: found, of: 2, after: name) + fullNames(in: found, of: 8, after: name)
      types.append(NamedType(name: name, isMessage: true, symbols: [name] + symbols))
      types += try self.types(found, messages: 3, enums: 4, after: name)
    }
    return types
  }

  private static func fullNames(
    in bytes: [UInt8], of number: UInt32, after scope: String
  ) throws(ProtobufError) -> [String] {
    try values(in: bytes, of: number).map { bytes throws(ProtobufError) in try text(bytes, 1, after: scope) }
  }

  private static func text(
    _ bytes: [UInt8], _ number: UInt32, after scope: String = ""
  ) throws(ProtobufError) -> String {
    let name = String(decoding: try values(in: bytes, of: number).last ?? [], as: UTF8.self)
    return scope.isEmpty ? name : scope + "." + name
  }

  private static func values(in bytes: [UInt8], of number: UInt32) throws(ProtobufError) -> [[UInt8]] {
    var values: [[UInt8]] = []
    var at = 0
    while at < bytes.count {
      let member = try bytes.span.member(&at, end: bytes.count)
      if member.number == number { values.append([UInt8](bytes[member.payload])) }
    }
    return values
  }
}
