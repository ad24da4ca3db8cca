import Crypto
import Identity
import Store
import Testing
import API

@testable import Services

private func client(_ given: ClientContext?) throws -> ClientContext {
  try Shape.client(given) { Digest(Crypto.sha256($0)) }
}

private func deviceID(_ id: String) throws -> String { try client(ClientContext(deviceID: id)).deviceID }

@Test func `an IP address is stored in its canonical spelling, and a missing one stays missing`() throws {
  #expect(try client(ClientContext(ipAddress: "[2001:DB8::7]:443")).ipAddress == "2001:db8::7")
  #expect(try client(ClientContext()) == ClientContext())
  #expect(try client(nil) == ClientContext())
}

@Test(arguments: [" ", "unknown", "198.51.100.1, 203.0.113.77", "203.0.113.077", String(repeating: "1", count: 5_000)])
func `an invalid IP address is rejected with its field`(address: String) {
  let failure = failure { try client(ClientContext(ipAddress: address)) }
  #expect(failure?.reason == .invalidField && failure?.field == "client.ip_address")
}

@Test func `a user agent is cut at its limit between scalars, and shows no control characters`() throws {
  func kept(_ text: String) throws -> String { try client(ClientContext(userAgent: text)).userAgent }
  let longest = String(repeating: "x", count: 512)
  #expect(try kept(longest) == longest && kept(longest + "x") == longest)
  #expect(try kept(String(repeating: "x", count: 511) + "é") == String(repeating: "x", count: 511))
  #expect(try kept("App/1\u{1B}[2J\r\n(Linux)") == "App/1[2J (Linux)")
}

@Test func `a long device id stays distinct, and always gives the same id`() throws {
  let longest = String(repeating: "d", count: 128)
  let (one, other) = (longest + "1", longest + "2")
  #expect(try deviceID(longest) == longest)
  #expect(try deviceID(one) == deviceID(one) && deviceID(one) != deviceID(other) && deviceID(one) != longest)
  #expect(try deviceID(one).utf8.count <= 128)
  #expect(try deviceID(String(repeating: "d", count: 1_000_000)) != deviceID(String(repeating: "d", count: 999_999)))
}

@Test func `a device id with control characters stays distinct, and a blank one counts as missing`() throws {
  #expect(try deviceID("a\nb") != "a\nb" && deviceID("a\nb") != deviceID("ab") && deviceID("a\nb") != deviceID("a b"))
  #expect(try deviceID(" \t").isEmpty && deviceID(" a ") == " a ")
}

@Test func `names from callers lose control characters before their length is checked`() throws {
  #expect(try Shape.shown("Ada\r\nX\u{202E}", "display_name", bytesMax: 5) == "Ada X")
  #expect(failure { try Shape.shown("Ada Xy", "display_name", bytesMax: 5) }?.field == "display_name")
  #expect(try Shape.webURL("https://a.example/\n\u{7F}b", "photo_url") == "https://a.example/b")
  #expect(failure { try Shape.webURL("java\nscript:x", "photo_url") }?.field == "photo_url")
}
