internal import Reactor

/// A transport for development. It writes each message as one JSON object to a file, in a folder that only its owner
/// can read. File names begin with the creation time of the message, so that a listing is in order.
package struct OutboxTransport: MessageTransport {
  package let name = "outbox"
  private let folder: String

  package init(folder: String) { self.folder = folder }

  /// Creates the folder at startup, so that a program that waits for messages can watch it.
  package func prepare() throws { try PrivateFile.makeFolder(folder) }

  package func send(_ message: DeliveryMessage, _ words: Words) async -> Verdict {
    guard let bytes = Document(message, words).bytes else { return .refused("the message cannot be encoded") }
    do {
      try PrivateFile("\(folder)/\(message.id).json").write(bytes)
      return .delivered
    } catch {
      return .failed("outbox: \(error)")
    }
  }
}
