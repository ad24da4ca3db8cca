internal import Encodings
internal import Store

/// Who mails are from.
package struct Sender: Hashable, Sendable {
  package var address: String
  /// Shown beside it, or empty.
  package var name: String

  package init(address: String, name: String = "") {
    self.address = address
    self.name = name
  }

  var domain: Substring { address.split(separator: "@").last ?? "" }
}

/// A mail as its relay is given it (RFC 5322, RFC 2045 to 2047). Whatever a person or a template chose is written in
/// base64, where no byte of it can end a line; what stands in the open is ours, or was looked at.
struct MailForm {
  let sender: Sender

  func bytes(_ letter: Letter, _ words: Words, nowMillis: Int64) -> [UInt8] {
    var head = [
      "Date: \(MailForm.date(nowMillis))",
      // The same at each attempt, so that a mailbox can tell a repetition.
      "Message-ID: <\(letter.id)@\(sender.domain)>",
      "From: \(sender.name.isEmpty ? "" : MailForm.encoded(sender.name) + "\r\n ")<\(sender.address)>",
      "To: <\(MailForm.quoted(letter.recipient))>",
      "Subject: \(MailForm.encoded(words.subject))",
      "MIME-Version: 1.0",
      // RFC 3834, 5: nobody's holiday answers to it.
      "Auto-Submitted: auto-generated",
    ]
    guard let html = words.html else {
      return MailForm.lines(head + MailForm.part("plain", words.text))
    }
    // No line of base64 can begin so.
    let boundary = "=_\(letter.id)"
    head += ["Content-Type: multipart/alternative; boundary=\"\(boundary)\"", ""]
    let parts = [("plain", words.text), ("html", html)].flatMap { kind, text in
      ["--\(boundary)"] + MailForm.part(kind, text)
    }
    return MailForm.lines(head + parts + ["--\(boundary)--"])
  }

  /// The address as SMTP and mail headers write it. A local part that is no dot-atom is a quoted string (RFC 5322,
  /// 3.4.1).
  static func quoted(_ address: String) -> String {
    guard let at = address.lastIndex(of: "@") else { return address }
    let local = address[..<at]
    return local.hasSuffix(".") || local.contains("..") ? "\"\(local)\"\(address[at...])" : address
  }

  private static func lines(_ lines: [String]) -> [UInt8] { Array((lines.joined(separator: "\r\n") + "\r\n").utf8) }

  /// The last fields of a head and the body below them.
  private static func part(_ kind: String, _ text: String) -> [String] {
    let body = Array(text.replacing("\r\n", with: "\n").replacing("\n", with: "\r\n").utf8)
    // RFC 2045, 6.8: 76 characters a line, which are 57 bytes.
    let lines = stride(from: 0, to: body.count, by: 57).map { start in
      Base64.padded(Array(body[start..<min(start + 57, body.count)]))
    }
    return ["Content-Type: text/\(kind); charset=utf-8", "Content-Transfer-Encoding: base64", ""] + lines
  }

  /// Short plain words stay as they are; everything else becomes encoded words (RFC 2047, 2: lines of 76 characters,
  /// and no word cuts a character).
  static func encoded(_ text: String) -> String {
    if text.utf8.count <= 60, text.utf8.allSatisfy(isPlain) { return text }
    var words: [String] = []
    var chunk: [UInt8] = []
    for scalar in text.unicodeScalars {
      let bytes = Array(String(scalar).utf8)
      if chunk.count + bytes.count > 39 {
        words.append(word(chunk))
        chunk = []
      }
      chunk += bytes
    }
    return (words + [word(chunk)]).joined(separator: "\r\n ")
  }

  private static func word(_ bytes: [UInt8]) -> String { "=?utf-8?B?\(Base64.padded(bytes))?=" }

  /// What is an atom or a blank in any field.
  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x20, 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"): true
    default: false
    }
  }

  /// RFC 5322, 3.3, in UTC.
  static func date(_ millis: Int64) -> String {
    let days = (millis >= 0 ? millis : millis - 86_399_999) / 86_400_000
    let text = rfc3339(millis)
    let parts = text.split { "-T:.Z".contains($0) }
    let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let weekday = weekdays[Int(((days % 7) + 7) % 7)]
    let month = months[(Int(parts[1]) ?? 1) - 1]
    return "\(weekday), \(parts[2]) \(month) \(parts[0]) \(parts[3]):\(parts[4]):\(parts[5]) +0000"
  }
}
