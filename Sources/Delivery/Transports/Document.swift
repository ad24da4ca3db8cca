internal import FoundationEssentials
internal import Store

/// The JSON form of a message, for files of the outbox and requests to the webhook.
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

  init(_ message: DeliveryMessage, _ words: Words) {
    id = message.id
    channel = message.channel.rawValue
    kind = message.kind
    to = message.recipient
    locale = message.locale
    subject = words.subject
    text = words.text
    html = words.html
    values = message.values
  }

  /// nil: the message cannot be encoded. No valid message fails this way.
  var bytes: [UInt8]? {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(self)).map { Array($0) }
  }
}
