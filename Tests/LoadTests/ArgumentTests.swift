import API
import ArgumentParser
import Testing

@testable import latchkey_load

private func parses(_ arguments: String...) -> Bool { (try? LatchkeyLoad.parse(arguments)) != nil }

@Test func `numbers are accepted up to their limits, and not past them`() {
  let limits: [(String, String, String, String, String)] = [
    ("--connections", "1", "1024", "0", "1025"), ("--streams", "1", "100", "0", "101"),
    ("--rate", "0.01", "1000000", "0.009", "1000001"), ("--duration", "0.1", "3000", "0.09", "3001"),
    ("--warm-up", "0", "600", "-1", "601"), ("--timeout", "1", "600", "0", "601"),
    ("--prepare", "1", "10000000", "0", "10000001"),
  ]
  for (name, least, most, below, above) in limits {
    #expect(parses("health", name, least) && parses("health", name, most), "\(name)")
    #expect(!parses("health", "\(name)=\(below)") && !parses("health", name, above), "\(name)")
  }
}

@Test func `one existing workload or a scenario is required`() {
  #expect(parses("conflict") && parses("--scenario", "mixed.json5"))
  #expect(!parses() && !parses("conflicts") && !parses("conflict", "--scenario", "mixed.json5"))
}

@Test func `handshake flags are accepted for handshakes only`() {
  #expect(parses("handshake", "--resume") && parses("handshake", "--without-call"))
  #expect(!parses("health", "--resume") && !parses("health", "--without-call"))
}

@Test func `an address pattern contains one range`() throws {
  let addresses = try #require(Addresses("person{7-9}@example.com"))
  var generator = SeededGenerator(seed: 1)
  let drawn = Set((0..<100).map { _ in addresses.draw(&generator) })
  #expect(drawn == ["person7@example.com", "person8@example.com", "person9@example.com"])
  for wrong in ["person@example.com", "person{9-7}@example.com", "{1-2}{3-4}", "p{1}@x", "p{-1-2}@x", ""] {
    #expect(Addresses(wrong) == nil)
  }
  #expect(!parses("fetch", "--addresses", "person"))
}

@Test func `an accounts file reads back as it was written, without users that have no account`() throws {
  let user = LoadUser(login: PasswordCredential(email: "a@example.com", password: "p"))
  user.accountID = "id"
  let text = AccountsFile.text([user, LoadUser(login: PasswordCredential(email: "b@example.com", password: "p"))])
  let read = try AccountsFile.parse(text, path: "f")
  #expect(read.map(\.login) == [user.login])
  #expect(read.map(\.accountID) == ["id"])
}

@Test func `tokens are read by their use, and the error names the number of a wrong line`() throws {
  let line = #"{"use": "conflict", "provider_id": "oidc.corp", "email": "a@example.com", "id_token": "x.y.z"}"#
  let file = try TokensFile.parse(Array((line + "\n\n").utf8), path: "f")
  #expect(file.of(.conflict).map(\.token) == [ProviderTokenCredential(providerID: "oidc.corp", idToken: "x.y.z")])
  #expect(file.of(.link).isEmpty)
  for (text, why) in [
    ("{", "f, line 1"), (line + "\n{}", "f, line 2"), (line.replacing("conflict", with: "c"), "use"),
    (line.replacing("x.y.z", with: String(repeating: "x", count: TokensFile.tokenBytesMax + 1)), "longer"),
  ] {
    #expect {
      try TokensFile.parse(Array(text.utf8), path: "f")
    } throws: { "\($0)".contains(why) }
  }
  let longest = line.replacing("x.y.z", with: String(repeating: "x", count: TokensFile.tokenBytesMax))
  #expect(try TokensFile.parse(Array(longest.utf8), path: "f").tokens.count == 1)
}
