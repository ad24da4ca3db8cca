// Delivery: sending of mails and text messages.
//
// Owns: message texts (templates in files, by language), message formats, the transports, and the decision after each
// attempt.
// Does not own: the queue (Store), the choice of messages and recipients (Identity), the time of an attempt (Server's
// delivery worker).
// Read next: Schedule.swift, Templates/TemplateSet.swift, then the transports, such as Transports/SMTPTransport.swift.

package import Store

/// A message to be delivered, decrypted from the queue.
package struct DeliveryMessage: Hashable, Sendable {
  /// The delivery ID. It is the same at every attempt, so that a receiver can detect a repetition.
  package var id: String
  package var channel: DeliveryChannel
  /// The name of its template.
  package var kind: String
  /// An email address, or a phone number in E.164 format.
  package var recipient: String
  /// A BCP 47 language tag, or empty.
  package var locale: String
  package var values: [String: String]
  package var createdAt: Timestamp
  package var expiresAt: Timestamp

  package init(
    id: String, channel: DeliveryChannel, kind: String, recipient: String, locale: String = "",
    values: [String: String] = [:], createdAt: Timestamp, expiresAt: Timestamp
  ) {
    self.id = id
    self.channel = channel
    self.kind = kind
    self.recipient = recipient
    self.locale = locale
    self.values = values
    self.createdAt = createdAt
    self.expiresAt = expiresAt
  }
}

/// The text of a message, rendered from a template.
package struct Words: Hashable, Sendable {
  package var subject: String
  package var text: String
  package var html: String?

  package init(subject: String, text: String, html: String? = nil) {
    self.subject = subject
    self.text = text
    self.html = html
  }
}

/// The result of one attempt. The reason is for the log and the dead letter. It contains neither address nor contents.
package enum Verdict: Hashable, Sendable {
  case delivered
  /// The message can never be delivered: another attempt would fail in the same way.
  case refused(String)
  /// A later attempt may succeed.
  case failed(String)
}

/// A transport for messages. `send` must end within its own time limit.
package protocol MessageTransport: Sendable {
  /// The name in the configuration. Also a metric label.
  var name: String { get }
  func send(_ message: DeliveryMessage, _ words: Words) async -> Verdict
}
