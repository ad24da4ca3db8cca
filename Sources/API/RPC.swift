/// One RPC of proto/: its path and its message types.
package struct RPC<Request: ProtobufMessage, Response: ProtobufMessage>: Sendable {
  /// `/package.Service/Method`.
  package let path: String

  package init(_ path: String) { self.path = path }
}
