internal import Encodings
internal import Store

/// The sender of mails.
package struct Sender: Hashable, Sendable {
  package var address: String
  /// The display name, or empty.
  package var name: String

  package init(address: String, name: String = "") {
    self.address = address
    self.name = name
  }

  var domain: Substring { address.utf8.split(separator: UInt8(ascii: "@")).last.map(Substring.init) ?? "" }
}

/// The format of a mail (RFC 5322, RFC 2045 to 2047). Text from users and templates is in base64, so that none of its
/// bytes can end a line. All other text is constant or validated.
struct MailForm {
  let sender: Sender

  func bytes(_ message: DeliveryMessage, _ words: Words, nowMillis: Int64) -> [UInt8] {
    var head = [
      "Date: \(MailForm.date(nowMillis))",
      // The same at each attempt, so that a mail server can detect a repetition.
      "Message-ID: <\(message.id)@\(sender.domain)>",
      "From: \(sender.name.isEmpty ? "" : MailForm.encoded(sender.name) + "\r\n ")<\(sender.address)>",
      "To: <\(MailForm.quoted(message.recipient))>",
      "Subject: \(MailForm.encoded(words.subject))",
      "MIME-Version: 1.0",
      // Prevents automatic replies (RFC 3834, 5).
      "Auto-Submitted: auto-generated",
    ]
    guard let html = words.html else {
      return MailForm.lines(head + MailForm.part("plain", words.text))
    }
    // No base64 line can start with this text.
    let boundary = "=_\(message.id)"
    head += ["Content-Type: multipart/alternative; boundary=\"\(boundary)\"", ""]
    let parts = [("plain", words.text), ("html", html)].flatMap { kind, text in
      ["--\(boundary)"] + MailForm.part(kind, text)
    }
    return MailForm.lines(head + parts + ["--\(boundary)--"])
  }

  /// Returns the address in the form for SMTP and mail headers. A local part that is not a dot-atom becomes a quoted
  /// string (RFC 5322, 3.4.1).
  static func quoted(_ address: String) -> String {
    // By bytes, because some letters form one `Character` with the sign.
    guard let at = address.utf8.lastIndex(of: UInt8(ascii: "@")) else { return address }
    let local = address[..<at]
    let dot = UInt8(ascii: ".")
    let isDotAtom = local.utf8.last != dot && !zip(local.utf8, local.utf8.dropFirst()).contains { $0 == (dot, dot) }
    return !isDotAtom ? "\"\(local)\"\(address[at...])" : address
  }

  private static func lines(_ lines: [String]) -> [UInt8] { Array((lines.joined(separator: "\r\n") + "\r\n").utf8) }

  /// Returns the last header fields of a part, and its body.
  private static func part(_ kind: String, _ text: String) -> [String] {
    let body = Array(text.replacing("\r\n", with: "\n").replacing("\n", with: "\r\n").utf8)
    // RFC 2045, 6.8: 76 characters per line encode 57 bytes.
    let lines = stride(from: 0, to: body.count, by: 57).map { start in
      Base64.padded(Array(body[start..<min(start + 57, body.count)]))
    }
    return ["Content-Type: text/\(kind); charset=utf-8", "Content-Transfer-Encoding: base64", ""] + lines
  }

  /// Encodes a header text. Short plain text stays unchanged. Other text becomes encoded words (RFC 2047, 2: lines of
  /// at most 76 characters, and no word splits a character).
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

  /// Returns whether a byte is an atom character or a blank in every field.
  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x20, 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"): true
    default: false
    }
  }

  /// Formats a date (RFC 5322, 3.3) in UTC.
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
