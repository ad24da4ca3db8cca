import Store
import Testing

@testable import Delivery

@Suite struct MailFormTests {
  private let now = Timestamp(millis: 1_700_000_000_000)

  private func mail(_ words: Words, sender: Sender = Sender(address: "no-reply@example.com")) -> [String] {
    let message = DeliveryMessage(
      id: "018bcfe568000abc", channel: .mail, kind: "linked", recipient: "ann@example.com", createdAt: now,
      expiresAt: now)
    let bytes = MailForm(sender: sender).bytes(message, words, nowMillis: now.millis)
    return String(decoding: bytes, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)
      .map(String.init)
  }

  @Test(arguments: [
    ("a.b@example.com", "a.b@example.com"), ("é@example.com", "é@example.com"),
    ("a..b@docomo.ne.jp", "\"a..b\"@docomo.ne.jp"), ("a.@ezweb.ne.jp", "\"a.\"@ezweb.ne.jp"),
  ])
  func `a local part that is not a dot-atom is quoted`(address: String, quoted: String) {
    #expect(MailForm.quoted(address) == quoted)
  }

  @Test func `a plain mail has the fields of RFC 5322 and its text in base64`() {
    #expect(
      mail(Words(subject: "Hello there", text: "Grüße\n")) == [
        "Date: Tue, 14 Nov 2023 22:13:20 +0000", "Message-ID: <018bcfe568000abc@example.com>",
        "From: <no-reply@example.com>", "To: <ann@example.com>", "Subject: Hello there", "MIME-Version: 1.0",
        "Auto-Submitted: auto-generated", "Content-Type: text/plain; charset=utf-8",
        "Content-Transfer-Encoding: base64", "", "R3LDvMOfZQ0K", "",
      ])
  }

  @Test func `a mail with HTML has both, the plain text first`() {
    let lines = mail(Words(subject: "s", text: "a", html: "<p>"))
    #expect(lines.contains("Content-Type: multipart/alternative; boundary=\"=_018bcfe568000abc\""))
    let from = lines.firstIndex(of: "--=_018bcfe568000abc") ?? lines.endIndex
    #expect(
      Array(lines[from...]) == [
        "--=_018bcfe568000abc", "Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: base64", "",
        "YQ==", "--=_018bcfe568000abc", "Content-Type: text/html; charset=utf-8", "Content-Transfer-Encoding: base64",
        "", "PHA+", "--=_018bcfe568000abc--", "",
      ])
  }

  @Test func `no line is longer than 76 characters, whatever the text`() {
    let long = String(repeating: "ä漢🗝 ", count: 500)
    for line in mail(Words(subject: long, text: long), sender: Sender(address: "a@example.com", name: long)) {
      #expect(line.utf8.count <= 76, "\(line)")
    }
  }

  @Test func `a subject or name that could end its field is encoded`() {
    for text in ["a\r\nBcc: b@example.com", "a\nb", "=?utf-8?Q?x?=", "\"a\", <b@example.com>", "é"] {
      let lines = mail(Words(subject: text, text: "x"), sender: Sender(address: "a@example.com", name: text))
      #expect(!lines.contains { $0.hasPrefix("Bcc") })
      #expect(lines.contains { $0.hasPrefix("Subject: =?utf-8?B?") })
      #expect(lines.contains { $0.hasPrefix("From: =?utf-8?B?") } && lines.contains(" <a@example.com>"))
    }
    #expect(MailForm.encoded("é") == "=?utf-8?B?w6k=?=")
  }

  @Test func `dates match the calendar`() {
    #expect(MailForm.date(0) == "Thu, 01 Jan 1970 00:00:00 +0000")
    #expect(MailForm.date(951_782_399_999) == "Mon, 28 Feb 2000 23:59:59 +0000")
    #expect(MailForm.date(951_782_400_000) == "Tue, 29 Feb 2000 00:00:00 +0000")
  }
}
