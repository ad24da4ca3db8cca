import Store
import Testing

@testable import Identity

/// The sealing of rows under a new key, with rows of every table.
@Suite struct `Rows sealed again` {
  private let world = World()
  private var newFirst: World { world.server("new", "old") }
  private let old = FakeCryptography(masterKeys: ["old"]).masterKeyIDs[0]
  private let new = FakeCryptography(masterKeys: ["new"]).masterKeyIDs[0]

  /// Fills every table under the old key.
  private func fill() async throws {
    world.store.edit { $0.masterKeys = [:] }
    try await NoteMasterKeys(world.environment)()
    world.insertPerson([.totp, .recoveryCode])
    _ = try await world.signIn(corp()).exists
    _ = try await world.environment.commit(
      Change([
        world.environment.enqueue(
          OutgoingMessage(.signUp, to: .email(ada), expiresAt: world.now.adding(millis: 9)), for: "", now: world.now),
        .record(.keepImportKey(
          ImportKeyRecord(
            id: "i", sealedKey: world.cryptography.seal([1], context: ImportAccounts.context(ofKey: "i")),
            createdAt: world.now))),
        .signingKey(.insert(
          SigningKeyRecord(
            keyID: "s", algorithm: "ES256",
            sealedPrivateKey: world.cryptography.seal([2], context: SigningKeyRecord.context(ofKey: "s")),
            publishedAt: world.now, activeFrom: world.now))),
      ]), CommitDecision())
    world.clock.advance(millis: MasterKeyTimes.quietMillis)
  }

  private func rows(under id: MasterKeyID) async throws -> [SealedTable: Int] {
    try await InspectMasterKeys(newFirst.environment)().first { $0.id == id }?.rows ?? [:]
  }

  private let all: [SealedTable: Int] = [.signingKeys: 1, .importKeys: 1, .factors: 2, .pendings: 1, .deliveries: 1]

  @Test func `rows of every table move to the first key, and open with it alone`() async throws {
    try await fill()
    #expect(try await rows(under: old) == all)
    let end = try await SealAgain(newFirst.environment)(of: [old]) { _ in }
    #expect(end.sealedRows == 6 && end.unopenedRows == 0)
    #expect(try await rows(under: new) == all)
    #expect(try await rows(under: old) == [:])
    let after = world.server("new").environment
    for row in world.store.contents.sealedRows { #expect(after.sealingAgain(row) != nil, "\(row.name)") }
    let required = try await world.server("new").signIn(rightPassword)
    guard case .secondFactorRequired(let pending) = required else { throw UnexpectedAnswer(text: "\(required)") }
    _ = try await world.server("new").finish(pending).grant
  }

  @Test func `a row that another write replaced in between keeps that write`() async throws {
    try await fill()
    let row = try #require(world.store.contents.factors.first)
    let stale = try #require(newFirst.environment.sealingAgain(.factor(row)))
    let newer = world.environment.seal(.totp(secret: totpSecret, lastStep: 7), of: row)
    world.store.edit { $0.factors[0].sealedSecret = newer }
    _ = try await newFirst.environment.commit(Change([stale]), CommitDecision())
    #expect(world.store.contents.factors[0].sealedSecret == newer)
  }

  @Test func `a row that does not open is left and counted`() async throws {
    try await fill()
    world.store.edit { $0.importKeys["i"]?.sealedKey[20] ^= 1 }
    let end = try await SealAgain(newFirst.environment)(of: [old]) { _ in }
    #expect(end.sealedRows == 5 && end.unopenedRows == 1)
    #expect(try await rows(under: old) == [.importKeys: 1])
  }

  @Test func `an interruption at any portion leaves every row under one key or the other, and the rest is done later`()
    async throws
  {
    try await fill()
    struct Killed: Error {}
    for portions in 1...4 {
      var done = 0
      await #expect(throws: Killed.self) {
        _ = try await SealAgain(newFirst.environment)(of: [old]) { _ in
          done += 1
          if done == 1 { throw Killed() }
        }
      }
      let left = try await rows(under: old).values.reduce(0, +)
      let moved = try await rows(under: new).values.reduce(0, +)
      #expect(left + moved == 6 && moved >= portions)
    }
    _ = try await SealAgain(newFirst.environment)(of: [old]) { _ in }
    #expect(try await rows(under: new) == all)
  }

  @Test func `two servers seal again at the same time, and each row ends under the first key`() async throws {
    try await fill()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<2 { group.addTask { _ = try await SealAgain(newFirst.environment)(of: [old]) { _ in } } }
      try await group.waitForAll()
    }
    #expect(try await rows(under: new) == all)
  }

  @Test func `the status follows the phases of a rotation`() async throws {
    try await fill()
    func states(_ server: World) async throws -> [MasterKeyStatus.State] {
      try await NoteMasterKeys(server.environment)()
      return try await InspectMasterKeys(server.environment)().map(\.state)
    }
    #expect(try await states(world.server("old")) == [.seals])
    #expect(try await states(world.server("old", "new")) == [.seals, .unused])
    #expect(try await states(newFirst) == [.seals, .sealsElsewhere])
    world.clock.advance(millis: MasterKeyTimes.quietMillis)
    #expect(try await states(newFirst) == [.seals, .opens])
    _ = try await SealAgain(newFirst.environment)(of: [old]) { _ in }
    #expect(try await states(newFirst) == [.seals, .agesOut])
    world.clock.advance(millis: world.policy.keyedDigestMillisMax + MasterKeyTimes.uncertainMillis)
    #expect(try await states(newFirst) == [.seals, .removable])
    #expect(try await states(world.server("new")) == [.seals, .removed])
    let third = try await states(world.server("third"))
    #expect(third.first == .seals && Set(third.dropFirst()) == [.missing, .removed])
  }

  @Test func `the refresh tokens from before the change are counted, and those from after it are not`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    _ = try world.session(of: "account-y")
    try await NoteMasterKeys(world.environment)()
    world.clock.advance(millis: MasterKeyTimes.uncertainMillis + 1)
    _ = try newFirst.session(of: "account-y")
    let status = try #require(try await InspectMasterKeys(newFirst.environment)().last)
    #expect(status.refreshTokens == 1 && status.state == .agesOut)
    let end = try #require(world.store.contents.sessions.values.map { min($0.idleExpiresAt, $0.expiresAt) }.min())
    #expect(try #require(status.neededUntil) >= end)
  }
}

extension Tables {
  fileprivate var sealedRows: [SealedRow] {
    SealedTable.allCases.flatMap { table -> [SealedRow] in
      guard case .rows(let rows, _) = masterKeyFacts(.rows(table, after: nil, rowsMax: 1_000)) else { return [] }
      return rows
    }
  }
}
