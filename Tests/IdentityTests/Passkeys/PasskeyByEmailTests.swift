import Store
import Testing

@testable import Identity

/// Rows P9 and P10: a sign-in with an email address shows nothing of its account.
struct `Passkeys, sign-in with an email address` {
  let world = World { $0.passkeyEnabled = true }
  private static let dayMillis: Int64 = 86_400_000

  func allowed(_ email: String) async throws -> [NamedPasskey] {
    _ = try await world.startPasskeySignIn(email: email)
    return world.passkeys.lastRequest?.allowed ?? []
  }

  private func madeUp(_ number: Int, days: Int64 = 0) -> [NamedPasskey] {
    world.environment.madeUpPasskeys(
      for: "user-\(number)@example.com", at: "example.com", now: beginning.adding(millis: days * Self.dayMillis))
  }

  @Test func `P9: the account's own passkeys of the relying party are named`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    var key = FakeAuthenticator()
    try await world.register(&key, world.session(of: "account-y"))
    #expect(try await allowed(ada).map(\.credentialID) == [Array("key-1".utf8)])
    let started = try await world.startPasskeySignIn(email: ada)
    let response = key.response(to: started.optionsJSON, withHandle: false)
    _ = try await world.signIn(.passkey(PasskeyResponse(.signIn(started.id), credentialJSON: response))).grant
  }

  @Test func `P10: a sign-in with an email address takes only the passkeys of its account`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    var foreign = FakeAuthenticator()
    _ = try await world.signUp(&foreign)
    for email in [ada, "nobody@example.com"] {
      let started = try await world.startPasskeySignIn(email: email)
      let response = foreign.response(to: started.optionsJSON)
      let failure = await refused(.invalidPasskey) {
        try await world.signIn(.passkey(PasskeyResponse(.signIn(started.id), credentialJSON: response)))
      }
      #expect(failure?.metadata == ["check": "unknown_credential"])
    }
  }

  @Test func `P9: unknown addresses and accounts without passkeys get made-up ids that stay the same`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    for email in [ada, "nobody@example.com"] {
      let first = try await allowed(email)
      #expect(try await allowed(email) == first && (1...4).contains(first.count))
      #expect(first.allSatisfy { (16...64).contains($0.credentialID.count) })
    }
    #expect(try await allowed(ada) != allowed("nobody@example.com"))
    let one = world.environment.madeUpPasskeys(for: ada, at: "example.com", now: world.now)
    #expect(one != world.environment.madeUpPasskeys(for: ada, at: "other.example", now: world.now))
  }

  @Test func `P9: made-up answers are as different as those of accounts`() {
    let answers = (0..<2000).map { madeUp($0) }
    let counts = Dictionary(grouping: answers, by: \.count).mapValues(\.count)
    #expect(counts[1, default: 0] > 1000 && counts[2, default: 0] > 400)
    #expect(counts[3, default: 0] > 40 && counts[4, default: 0] > 0)
    let all = answers.joined()
    #expect(Set(all.map(\.credentialID)).count == all.count)
    #expect(Set(all.map(\.credentialID.count)) == [16, 20, 32, 48, 64])
    #expect(Set(all.map(\.transports)) == [["hybrid", "internal"], ["internal"], ["nfc", "usb"], ["usb"], []])
  }

  @Test func `P9: a made-up answer changes within four years, and seldom within a month`() {
    let numbers = 0..<500
    #expect(numbers.allSatisfy { madeUp($0) != madeUp($0, days: 4 * 366) })
    let changed = numbers.count { madeUp($0) != madeUp($0, days: 30) }
    #expect(1...60 ~= changed)
    // One passkey at a time: the others stay.
    let kept = numbers.count { !Set(madeUp($0)).isDisjoint(with: madeUp($0, days: 365)) }
    #expect(kept > 250)
  }

  @Test func `P9: the transports of a passkey are among those of made-up ones`() {
    func shown(_ byteCount: Int, _ transports: String...) -> [String] {
      let id = [UInt8](repeating: 1, count: byteCount)
      return NamedPasskey(credentialID: id, transports: transports).withCommonTransports.transports
    }
    #expect(shown(16, "internal", "hybrid") == ["hybrid", "internal"] && shown(48, "usb", "usb") == ["usb"])
    #expect(shown(64, "ble", "nfc", "usb") == [] && shown(20, "smart-card") == [] && shown(32) == [])
    #expect(shown(64, "internal") == [] && shown(20, "usb") == [] && shown(33, "internal") == [])
    // What is shown of an id of a common length is a pair that made-up passkeys have.
    let pairs = Set((0..<6_000).flatMap { madeUp($0) }.map { "\($0.credentialID.count) \($0.transports)" })
    for byteCount in [16, 20, 32, 48, 64] {
      for transports in [[], ["internal"], ["hybrid", "internal"], ["usb"], ["nfc", "usb"], ["ble"], ["cable"]] {
        let passkey = NamedPasskey(
          credentialID: [UInt8](repeating: 1, count: byteCount), transports: transports)
        #expect(pairs.contains("\(byteCount) \(passkey.withCommonTransports.transports)"))
      }
    }
  }

  @Test func `P6: the server recognizes the ids that it made up, and no others`() {
    for number in 0..<200 {
      for passkey in madeUp(number, days: Int64(number) * 20) {
        #expect(world.environment.isMadeUp(passkey.credentialID))
        var other = passkey.credentialID
        other[number % other.count] ^= 1
        #expect(!world.environment.isMadeUp(other))
      }
    }
    for count in 0...9 { #expect(!world.environment.isMadeUp([UInt8](repeating: 0, count: count))) }
  }

  @Test func `P9: both cases write the same rows`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    var key = FakeAuthenticator()
    try await world.register(&key, world.session(of: "account-y"))
    world.store.edit { $0.pendings = [:] }
    _ = try await allowed(ada)
    _ = try await allowed("bob@example.com")
    let rows = Array(world.store.contents.pendings.values)
    #expect(rows.count == 2 && rows.allSatisfy { $0.accountID.isEmpty && $0.purpose == .passkeySignIn })
    #expect(rows[0].sealed.count == rows[1].sealed.count)
  }
}
