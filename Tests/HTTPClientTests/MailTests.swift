import Testing

@testable import HTTPClient

private func mail(_ change: (inout MailRequest) -> Void = { _ in }) throws -> FetchJob {
  var mail = MailRequest(
    host: "Relay.example", port: 587, security: .startTLS, heloName: "us.example", sender: "a@us.example",
    recipient: "b@them.example", bytes: [1])
  change(&mail)
  return try FetchJob(mail, FetchLimits())
}

@Suite struct MailTests {
  @Test func `an email goes to one relay, with its name, port and kind of security`() throws {
    #expect(try mail().target == Target(checked: "smtp://relay.example:587/us.example", host: "relay.example"))
    #expect(try mail { $0.security = .tls }.target.url == "smtps://relay.example:587/us.example")
    #expect(try mail { $0.host = "::1" }.target.url == "smtp://[::1]:587/us.example")
    #expect(try mail().fieldLines == ["<b@them.example>"])
  }

  @Test(arguments: [
    "", "b", "b@", "@them.example", "b@c@d.example", "b@them.example\r\nRCPT TO:<c@d.example>", "b b@them.example",
    "b>@them.example", "\"b@them.example", "b@[127.0.0.1]", "b@thém.example", "b\u{0}@c.example", "bé\n@c.example",
    "\"b\"c@them.example", "\"\"@them.example", "\"b\" <@them.example", "\"b@c\"@them.example", "\"\\b\"@them.example",
  ])
  func `an address with additional text is rejected for both recipient and sender`(address: String) {
    #expect(throws: FetchError.refusedField) { try mail { $0.recipient = address } }
    #expect(throws: FetchError.refusedField) { try mail { $0.sender = address } }
  }

  @Test(arguments: ["bé@them.example", "\"b..c\"@docomo.ne.jp", "\"b.\"@ezweb.ne.jp", "\"é..\"@docomo.ne.jp"])
  func `a recipient may have a quoted local part, or UTF-8 in it, and a sender may not`(address: String) throws {
    #expect(try mail { $0.recipient = address }.fieldLines == ["<\(address)>"])
    #expect(throws: FetchError.refusedField) { try mail { $0.sender = address } }
  }

  @Test(arguments: ["", "a/b", "a b", "a\r\n", "a@b", "a?b", "a#b", "é"])
  func `a name that is not a host name is rejected`(name: String) {
    #expect(throws: FetchError.refusedField) { try mail { $0.host = name } }
    #expect(throws: FetchError.refusedField) { try mail { $0.heloName = name } }
  }

  @Test func `a login must be one line`() {
    for text in ["a\nb", "a\r", "a\u{0}", "\u{7F}"] {
      #expect(throws: FetchError.refusedField) { try mail { $0.user = text } }
      #expect(throws: FetchError.refusedField) { try mail { $0.password = text } }
    }
  }

  @Test func `an email may be as large as a request, and no larger`() throws {
    let bytesMax = FetchLimits().requestBodyBytesMax
    _ = try mail { $0.bytes = [UInt8](repeating: 0, count: bytesMax) }
    #expect(throws: FetchError.requestTooLarge) {
      try mail { $0.bytes = [UInt8](repeating: 0, count: bytesMax + 1) }
    }
  }

  @Test func `the printed form of an email contains no address, no content and no password`() {
    let mail = MailRequest(
      host: "relay.example", port: 25, security: .tls, heloName: "us", user: "user-name", password: "pass-word",
      sender: "from@us.example", recipient: "to@them.example", bytes: [115, 101, 99])
    for text in ["\(mail)", String(reflecting: mail)] {
      for secret in ["user-name", "pass-word", "from@", "to@", "115"] { #expect(!text.contains(secret)) }
    }
  }

  @Test func `only loopback addresses count as loopback`() {
    for address in [[127, 0, 0, 1], [127, 255, 0, 9], [UInt8](repeating: 0, count: 15) + [1]] as [[UInt8]] {
      #expect(AddressRule.isLoopback(address))
    }
    for address in [[], [126, 0, 0, 1], [0, 0, 0, 0], [10, 0, 0, 1], [UInt8](repeating: 0, count: 16)] as [[UInt8]] {
      #expect(!AddressRule.isLoopback(address))
    }
  }
}
