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
