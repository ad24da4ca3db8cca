import CCurl

/// A complete mail for a relay. Its content is not validated here.
package struct MailRequest: Sendable {
  /// The encryption of the connection. With TLS, the server's certificate is always verified.
  package enum Security: String, Sendable, CaseIterable {
    /// STARTTLS. Without it nothing is sent.
    case startTLS = "starttls"
    /// TLS from the first byte.
    case tls
    /// Plain text, to a loopback address only.
    case none
  }

  /// A host name, or an IP address without brackets.
  package var host: String
  package var port: UInt16
  package var security: Security
  /// The client's name in EHLO.
  package var heloName: String
  package var user: String
  /// The password of `user`. Empty: no login.
  package var password: String
  /// The addresses of the SMTP envelope.
  package var sender: String
  package var recipient: String
  /// The message, with CRLF line ends.
  package var bytes: [UInt8]

  package init(
    host: String, port: UInt16, security: Security, heloName: String, user: String = "", password: String = "",
    sender: String, recipient: String, bytes: [UInt8]
  ) {
    self.host = host
    self.port = port
    self.security = security
    self.heloName = heloName
    self.user = user
    self.password = password
    self.sender = sender
    self.recipient = recipient
    self.bytes = bytes
  }
}

// Printed values contain neither addresses nor contents nor the password.
extension MailRequest: CustomStringConvertible, CustomReflectable {
  package var description: String { "mail by \(host):\(port), \(bytes.count) bytes" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

extension FetchJob {
  init(_ mail: MailRequest, _ limits: FetchLimits) throws(FetchError) {
    guard mail.bytes.count <= limits.requestBodyBytesMax else { throw .requestTooLarge }
    // In an SMTP command, a line break would start another command. In the URL, a delimiter would end a component.
    guard MailRule.isName(mail.host), MailRule.isName(mail.heloName), MailRule.isAddress(mail.sender),
      MailRule.isRecipient(mail.recipient), MailRule.isLine(mail.user), MailRule.isLine(mail.password)
    else { throw .refusedField }
    method = .post
    let host = mail.host.lowercased()
    let scheme = mail.security == .tls ? "smtps" : "smtp"
    let authority = host.contains(":") ? "[\(host)]" : host
    target = Target(checked: "\(scheme)://\(authority):\(mail.port)/\(mail.heloName)", host: host)
    provider = "smtp"
    fieldLines = ["<\(mail.recipient)>"]
    body = mail.bytes
    self.mail = mail
  }
}

/// The characters allowed in SMTP commands: a subset of RFC 5321, 4.1.2.
package enum MailRule {
  package static func isName(_ text: String) -> Bool { isWord(text, with: ".-:") }

  package static func isAddress(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    return parts.count == 2 && !parts[0].isEmpty && isName(String(Substring(parts[1])))
      && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"<>()[],;:\\\"".utf8.contains($0) }
  }

  /// Also accepts a quoted local part (RFC 5321, 4.1.2) and one with UTF-8 (RFC 6531, 3.3). For UTF-8, libcurl requests
  /// SMTPUTF8 if the relay supports it.
  package static func isRecipient(_ text: String) -> Bool {
    var ascii = String(String.UnicodeScalarView(text.unicodeScalars.map { $0.isASCII ? $0 : "x" }))
    if ascii.hasPrefix("\""), let quote = ascii.dropFirst().firstIndex(of: "\"") {
      guard ascii[ascii.index(after: quote)...].hasPrefix("@") else { return false }
      ascii = String(ascii[ascii.index(after: ascii.startIndex)..<quote] + ascii[ascii.index(after: quote)...])
    }
    let domain = text.utf8.split(separator: UInt8(ascii: "@")).last
    return domain?.allSatisfy { $0 < 0x80 } ?? false && isAddress(ascii)
  }

  package static func isLine(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
}
