import Identity
import Store
import Testing

@Suite struct `Ids and tokens` {
  let world = World()

  @Test func `an account id is 28 base62 characters and a session id 22`() {
    let ids = world.environment.ids
    #expect(ids.account().wholeMatch(of: /[0-9A-Za-z]{28}/) != nil)
    #expect(ids.session().wholeMatch(of: /[0-9A-Za-z]{22}/) != nil)
    #expect(Set((0..<1000).map { _ in ids.session() }).count == 1000)
  }

  @Test func `no letter of an id is likelier than another`() {
    let text = (0..<2000).map { _ in world.environment.ids.account() }.joined()
    let counts = Dictionary(text.map { ($0, 1) }, uniquingKeysWith: +).values
    #expect(counts.count == 62)
    #expect(counts.allSatisfy { (720...1090).contains($0) }, "56,000 letters, 903 of each expected")
  }

  @Test func `audit ids sort by time`() {
    let ids = world.environment.ids
    #expect(ids.audit(at: Timestamp(millis: 255)) < ids.audit(at: Timestamp(millis: 256)))
  }

  @Test func `check 97: a truncated, padded, case-changed or bit-flipped refresh token is not ours`() throws {
    world.store.insert(account())
    let text = try world.session(of: "account-y").refreshToken
    #expect(RefreshToken(text, world.cryptography)?.text(world.cryptography) == text)
    let swapped = text.map { $0.isUppercase ? $0.lowercased() : $0.uppercased() }.joined()
    for changed in [String(text.dropLast()), text + "A", text + "=", " " + text, swapped, text.replacing(".", with: "")]
    {
      #expect(RefreshToken(changed, world.cryptography) == nil, "\(changed)")
    }
    for index in text.indices {
      var changed = text
      changed.replaceSubrange(index...index, with: text[index] == "A" ? "B" : "A")
      #expect(RefreshToken(changed, world.cryptography) == nil, "\(changed)")
    }
  }
}
