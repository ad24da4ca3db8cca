// API: the messages and RPCs of proto/ that clients see, as Swift types.
//
// Owns: the generated messages, the paths of the RPCs, and the schema of all services. deploy/gen writes the folder
// Generated.
// Does not own: the bytes of a message (Protobuf), the meaning of any field.
// Read next: DescriptorSet.swift, then any file of Generated/.

package import Protobuf

/// One RPC of proto/: its path and its message types.
package struct RPC<Request: ProtobufMessage, Response: ProtobufMessage>: Sendable {
  /// `/package.Service/Method`.
  package let path: String
  /// The index of the path in `RPCPaths.all`.
  package let number: Int

  package init(_ path: String, number: Int) {
    self.path = path
    self.number = number
  }
}

extension ProtobufEncodable {
  /// Packs the message into a google.protobuf.Any, for the details of a `Status`.
  package func asAny(arena: Arena) -> AnyMessage {
    AnyMessage(typeURL: "type.googleapis.com/" + Self.messageName, value: encodeBare(arena: arena))
  }
}
