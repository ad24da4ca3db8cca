internal import FoundationEssentials
internal import Store

/// A message as a JSON object: what the outbox has in its files and the webhook is sent.
struct Document: Encodable {
  private let id: String
  private let channel: String
  private let kind: String
  private let to: String
  private let locale: String
  private let subject: String
  private let text: String
  private let html: String?
  private let values: [String: String]

  init(_ letter: Letter, _ words: Words) {
    id = letter.id
    channel = letter.channel.rawValue
    kind = letter.kind
    to = letter.recipient
    locale = letter.locale
    subject = words.subject
    text = words.text
    html = words.html
    values = letter.values
  }

  /// nil: it is no text, which no message of ours is.
  var bytes: [UInt8]? {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(self)).map { Array($0) }
  }
}
