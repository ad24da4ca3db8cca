// Delivery: how a mail or text message leaves.
//
// Owns: the words of messages (templates in files, by language), the form of what is sent, the roads by which it
// leaves, and what follows from what became of an attempt.
// Does not own: the queue (Store), who is told what (Identity), when an attempt is made (Server's courier).
// Read next: Schedule.swift, Templates/TemplateSet.swift, then the roads.

package import Store

/// A message on its way out, opened from its place in the queue.
package struct Letter: Hashable, Sendable {
  /// Of its delivery: the same at every attempt, so that a receiver can tell a repetition.
  package var id: String
  package var channel: DeliveryChannel
  /// The name of its template.
  package var kind: String
  /// An address or a number in E.164.
  package var recipient: String
  /// BCP 47, or empty.
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

/// What a template made of a letter.
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

/// What became of one attempt. A reason is for the log and the dead letter: it holds neither address nor contents.
package enum Verdict: Hashable, Sendable {
  case delivered
  /// It can never be: another attempt would be the same.
  case refused(String)
  /// It may be later.
  case failed(String)
}

/// Takes letters where they belong. Ends within its own time limit.
package protocol Road: Sendable {
  /// As in configuration, and a label of metrics.
  var name: String { get }
  func send(_ letter: Letter, _ words: Words) async -> Verdict
}
