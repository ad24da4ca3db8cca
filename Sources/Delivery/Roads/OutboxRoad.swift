internal import Reactor

/// For development: each message is a file of one JSON object, in a folder that only its owner can look into. The name
/// begins with the time at which the message was made, so that a listing has them in order.
package struct OutboxRoad: Road {
  package let name = "outbox"
  private let folder: String

  package init(folder: String) { self.folder = folder }

  /// Made at the start, so that who waits for messages can watch it.
  package func prepare() throws { try PrivateFile.makeFolder(folder) }

  package func send(_ letter: Letter, _ words: Words) async -> Verdict {
    guard let bytes = Document(letter, words).bytes else { return .refused("it is no text") }
    do {
      try PrivateFile("\(folder)/\(letter.id).json").write(bytes)
      return .delivered
    } catch {
      return .failed("outbox: \(error)")
    }
  }
}
