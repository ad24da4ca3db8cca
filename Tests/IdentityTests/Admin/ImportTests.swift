import Store
import Testing

@testable import Identity

/// A row with every field that a former service may export.
private func fullRow(_ id: String? = "imported-1") -> ImportRow {
  var row = ImportRow()
  row.id = id
  row.email = ada
  row.emailVerified = true
  row.phoneNumber = "+441632960961"
  row.displayName = "Ada"
  row.photoURL = "https://example.com/ada.png"
  row.passwordHash = "old:correct horse"
  row.createdAt = beginning
  row.lastSignInAt = beginning.adding(millis: 5_000)
  row.customClaimsJSON = #"{"role":"editor"}"#
  row.identities = [
    ImportRow.Identity(
      key: IdentityKey(providerID: "google.com", subject: "g-1"), email: ada, displayName: "Ada G",
      photoURL: "https://example.com/g.png")
  ]
  row.phoneFactors = [
    ImportRow.PhoneFactor(id: "mfa-1", phoneNumber: "+441632960962", displayName: "mine", enrolledAt: beginning)
  ]
  return row
}

/// An error in a row, and the field that the result must name.
private struct RowEdit: Sendable {
  let field: String
  let edit: @Sendable (inout ImportRow) -> Void

  init(_ field: String, _ edit: @escaping @Sendable (inout ImportRow) -> Void) {
    self.field = field
    self.edit = edit
  }
}

private func decide(_ row: ImportRow, _ owners: ImportDecision.Owners = .init()) -> ImportDecision.Outcome {
  ImportDecision(
    row: row, now: Timestamp(millis: 1_800_000_000_000), factorsMax: 5, identitiesPerProviderMax: 1, newID: "new-id",
    newFactorID: { "new-factor" }, seal: { passkey, factor in passkey.credentialID + factor.id.utf8 }
  ).decide(owners)
}

private func made(_ row: ImportRow) throws -> AccountState {
  guard case .insert(let state) = decide(row) else { throw UnexpectedAnswer(text: "\(decide(row))") }
  return state
}

private func refusal(_ row: ImportRow, _ owners: ImportDecision.Owners = .init()) -> Failure? {
  if case .refuse(let failure) = decide(row, owners) { failure } else { nil }
}

struct `A row of an import` {
  @Test func `becomes an account with all its fields, and its address counts as verified by an administrator`() throws {
    let state = try made(fullRow())
    let account = state.account
    #expect(account.id == "imported-1" && account.email == ada && account.emailAddress?.verification == .administrator)
    #expect(account.emailAddress?.source == "password")
    #expect(account.phoneNumber == "+441632960961")
    #expect(account.madeByAdministrator)
    #expect(account.displayName == "Ada" && account.photoURL == "https://example.com/ada.png" && !account.anonymous)
    #expect(account.passwordHash == "old:correct horse" && account.passwordSetAt == beginning)
    #expect(account.phoneNumberSetAt == beginning)
    #expect(account.createdAt == beginning && account.lastSignInAt == beginning.adding(millis: 5_000))
    #expect(account.customClaimsJSON == #"{"role":"editor"}"# && !account.disabled && account.tokensValidAfter == nil)
    #expect(state.factors.map(\.id) == ["mfa-1"] && state.factors.first?.kind == .phone)
    #expect(state.factors.first?.phoneNumber == "+441632960962" && state.factors.first?.enrolledAt == beginning)
  }

  @Test func `its identities verify no address, whatever the former service stored`() throws {
    let identity = try #require(try made(fullRow()).identities.first)
    #expect(identity.key == IdentityKey(providerID: "google.com", subject: "g-1") && identity.accountID == "imported-1")
    #expect(identity.email == ada && identity.tier == .unverified && identity.displayName == "Ada G")
  }

  @Test func `check 109: an address is verified only if the row marks it as verified`() throws {
    var row = fullRow()
    row.emailVerified = false
    #expect(try made(row).account.emailAddress?.verification == nil)
    row.email = nil
    row.passwordHash = nil
    row.emailVerified = true
    #expect(try made(row).account.emailAddress?.verification == nil, "without an address there is nothing to verify")
  }

  @Test func `check 5: a user who signed in by no way that the row contains has used a custom token`() throws {
    var row = ImportRow()
    (row.email, row.lastSignInAt) = (ada, beginning)
    #expect(try made(row).account.customToken)
    // No other user has the account in these rows.
    for edit: (inout ImportRow) -> Void in [
      { $0.lastSignInAt = nil }, { $0.emailVerified = true }, { $0.passwordHash = "old:correct horse" },
      { $0.phoneNumber = "+441632960961" }, { $0.identities = fullRow().identities },
    ] {
      var other = row
      edit(&other)
      #expect(try !made(other).account.customToken)
    }
  }

  @Test func `without an id it gets a new one, and its creation time is now`() throws {
    var row = ImportRow()
    row.email = ada
    let account = try made(row).account
    #expect(account.id == "new-id" && account.createdAt.millis == 1_800_000_000_000 && account.passwordSetAt == nil)
    #expect(account.emailAddress?.source == nil && account.phoneNumberSetAt == nil)
  }

  @Test func `the address belongs to its provider if there is no password`() throws {
    var row = fullRow()
    row.passwordHash = nil
    #expect(try made(row).account.emailAddress?.source == "google.com")
    row.identities[0].email = "other@example.com"
    #expect(try made(row).account.emailAddress?.source == nil)
  }

  @Test(arguments: [
    RowEdit("account_id") { $0.id = "with blank s" },
    RowEdit("account_id") { $0.id = String(repeating: "x", count: 129) },
    RowEdit("email") { $0.email = nil }, RowEdit("created_at") { $0.createdAt = Timestamp(millis: 1_800_000_000_001) },
    RowEdit("created_at") { $0.createdAt = Timestamp(millis: -1) },
    RowEdit("last_sign_in_at") { $0.lastSignInAt = Timestamp(millis: 1_800_000_000_001) },
    RowEdit("phone_factors") { $0.phoneFactors += $0.phoneFactors },
    RowEdit("phone_factors") { row in
      row.phoneFactors += row.phoneFactors
      row.phoneFactors[1].id = "mfa-2"
    },
    RowEdit("providers") { row in
      row.identities += row.identities
      row.identities[1].key.subject = "g-2"
    },
    RowEdit("phone_factors") { $0.phoneFactors[0].enrolledAt = Timestamp(millis: 1_800_000_000_001) },
    RowEdit("phone_factors") { row in
      row.phoneFactors = (0..<6).map {
        ImportRow.PhoneFactor(id: "f\($0)", phoneNumber: "+44163296096\($0)", displayName: "", enrolledAt: nil)
      }
    },
  ])
  fileprivate func `in error names its field`(wrong: RowEdit) {
    var row = fullRow()
    wrong.edit(&row)
    let failure = refusal(row)
    #expect(failure?.reason == .invalidField && failure?.field == wrong.field)
  }

  private func withPasskeys(_ ids: [String?], edit: (inout ImportRow) -> Void = { _ in }) -> ImportRow {
    var row = fullRow()
    row.passkeyFactors = ids.enumerated().map { number, id in
      let passkey = Passkey(
        relyingPartyID: "example.com", credentialID: [UInt8(number)], userHandle: [1], publicKey: [1], algorithm: -7)
      return ImportRow.PasskeyFactor(id: id, passkey: passkey, displayName: "key", enrolledAt: nil)
    }
    edit(&row)
    return row
  }

  @Test func `restores passkeys that are second factors, and is unchanged when it comes again`() throws {
    let row = withPasskeys(["mfa-2", nil])
    let state = try made(row)
    #expect(state.factors.map(\.kind) == [.phone, .passkey, .passkey] && state.passkeys.isEmpty)
    #expect(state.factors.map(\.id) == ["mfa-1", "mfa-2", "new-factor"])
    #expect(state.factors[1].sealedSecret == [0] + Array("mfa-2".utf8) && state.factors[1].enrolledAt == beginning)
    #expect(decide(row, .init(account: state)) == .unchanged)
    #expect(refusal(withPasskeys(["mfa-3", nil]), .init(account: state))?.field == "account_id")
    #expect(refusal(withPasskeys(["mfa-2"]), .init(account: state))?.field == "account_id")
  }

  @Test func `in error about passkeys names them`() {
    let wrong = [
      withPasskeys(["mfa-1"]), withPasskeys(["a", "a"]), withPasskeys([nil, nil, nil, nil, nil]),
      withPasskeys([nil, nil]) { $0.passkeyFactors[1].passkey.credentialID = [0] },
      withPasskeys([nil]) { $0.passkeyFactors[0].enrolledAt = Timestamp(millis: 1_800_000_000_001) },
    ]
    #expect(wrong.map { refusal($0)?.field } == Array(repeating: "passkey_factors", count: 5))
  }

  @Test func `keeps an id of 128 printable characters`() throws {
    let id = String(repeating: "~", count: 128)
    #expect(try made(fullRow(id)).account.id == id)
  }
}

struct `A row of an import meets existing accounts` {
  let there: AccountState

  init() throws { there = try made(fullRow()) }

  private func owners(_ edit: (inout ImportDecision.Owners) -> Void) -> ImportDecision.Owners {
    var owners = ImportDecision.Owners()
    edit(&owners)
    return owners
  }

  private var all: ImportDecision.Owners {
    owners {
      $0.account = there
      $0.emailOwner = there
      $0.phoneOwner = there
      $0.identityOwners[IdentityKey(providerID: "google.com", subject: "g-1")] = there
    }
  }

  @Test func `the id of a removed account is rejected, and its row is not retried`() {
    let closed = ClosedAccountRecord(id: "x", closedAt: beginning)
    #expect(refusal(fullRow(), owners { $0.closed = closed })?.field == "account_id")
  }

  @Test func `an account that equals the row is unchanged`() { #expect(decide(fullRow(), all) == .unchanged) }

  @Test func `a row without an id finds its account by its address, number or identity`() {
    #expect(decide(fullRow(nil), all) == .unchanged)
    var row = fullRow(nil)
    row.displayName = "Somebody else"
    #expect(refusal(row, all)?.reason == .emailAlreadyInUse)
  }

  @Test func `a row without a creation time matches the account that an earlier import created from it`() throws {
    var row = fullRow()
    row.createdAt = nil
    var earlier = try made(row)
    let then = beginning.adding(millis: 10_000)
    (earlier.account.createdAt, earlier.account.passwordSetAt, earlier.account.phoneNumberSetAt) = (then, then, then)
    #expect(decide(row, owners { $0.account = earlier }) == .unchanged)
  }

  @Test func `an account that has signed in since the import, and has a new hash, is unchanged`() {
    var signedIn = there
    signedIn.account.lastSignInAt = Timestamp(millis: 1_790_000_000_000)
    signedIn.account.passwordHash = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA"
    signedIn.account.version = 7
    #expect(decide(fullRow(), owners { $0.account = signedIn }) == .unchanged)
  }

  @Test func `what sign-ins since the import have added leaves an account unchanged`() throws {
    var row = fullRow()
    (row.emailVerified, row.displayName, row.photoURL) = (false, "", "")
    let imported = try made(row)
    func signedIn(at last: Timestamp?, _ edit: (inout AccountState) -> Void) -> ImportDecision.Outcome {
      var later = imported
      edit(&later)
      later.account.lastSignInAt = last
      return decide(row, owners { $0.account = later })
    }
    let additions: [(inout AccountState) -> Void] = [
      { $0.account.emailLink = true }, { $0.account.customToken = true }, { $0.account.displayName = "Ada" },
      { $0.account.photoURL = "https://example.com/new.png" },
      { state in
        state.account.emailAddress?.verification = .emailLink
        state.account.emailVerifiedAt = beginning.adding(millis: 9_000)
      },
    ]
    for add in additions {
      #expect(signedIn(at: beginning.adding(millis: 9_000), add) == .unchanged)
      #expect(signedIn(at: beginning.adding(millis: 4_999), add) != .unchanged, "no sign-in since")
      #expect(signedIn(at: nil, add) != .unchanged)
    }
    let news = signedIn(at: beginning.adding(millis: 9_000)) { state in
      (state.identities[0].email, state.identities[0].tier) = ("new@example.com", .authoritative)
      (state.identities[0].displayName, state.identities[0].photoURL) = ("Ada L", "https://example.com/l.png")
    }
    #expect(news == .unchanged)
    let other = signedIn(at: beginning.adding(millis: 9_000)) { $0.account.emailAddress?.text = "else@example.com" }
    #expect(other != .unchanged)
  }

  @Test func `an address that a provider of the row has filled in since leaves an account unchanged`() throws {
    var row = fullRow()
    (row.email, row.passwordHash) = (nil, nil)
    var later = try made(row)
    later.account.lastSignInAt = beginning.adding(millis: 9_000)
    later.account.emailAddress = EmailAddress(
      ada, source: "google.com", verification: .assertion(providerID: "google.com"))
    #expect(decide(row, owners { $0.account = later }) == .unchanged)
    later.account.emailAddress?.source = SignInMethods.password
    #expect(refusal(row, owners { $0.account = later })?.field == "account_id")
  }

  @Test func `an account with the same id that differs is not changed`() {
    func isLeftAlone(_ edit: (inout AccountState) -> Void) -> Bool {
      var other = there
      edit(&other)
      let failure = refusal(fullRow(), owners { $0.account = other })
      return failure?.reason == .invalidField && failure?.field == "account_id"
    }
    #expect(isLeftAlone { $0.account.displayName = "Else" })
    #expect(isLeftAlone { $0.account.emailAddress?.text = "else@example.com" })
    #expect(isLeftAlone { $0.account.disabled = true })
    #expect(isLeftAlone { $0.account.passwordHash = "another" })
    #expect(isLeftAlone { $0.account.phoneNumberSetAt = beginning.adding(millis: 1) }, "it went, and came back")
    #expect(isLeftAlone { $0.account.customClaimsJSON = "" })
    #expect(isLeftAlone { $0.account.lastSignInAt = nil })
    #expect(isLeftAlone { $0.account.emailAddress?.verification = nil })
    #expect(isLeftAlone { $0.identities = [] })
    #expect(isLeftAlone { $0.factors = [] })
  }

  @Test func `the error names an address, number or identity of another account`() {
    let email = refusal(fullRow("other"), owners { $0.emailOwner = there })
    #expect(email?.reason == .emailAlreadyInUse && email?.field == "email")
    let phone = refusal(fullRow("other"), owners { $0.phoneOwner = there })
    #expect(phone?.reason == .providerAlreadyLinked && phone?.field == "phone_number")
    let key = IdentityKey(providerID: "google.com", subject: "g-1")
    let identity = refusal(fullRow("other"), owners { $0.identityOwners[key] = there })
    #expect(identity?.reason == .providerAlreadyLinked && identity?.field == "providers")
  }
}

struct `A batch of an import` {
  let world = World()

  private func row(_ number: Int, _ edit: (inout ImportRow) -> Void = { _ in }) -> ImportRow {
    var row = ImportRow()
    row.id = "id-\(number)"
    row.email = "person\(number)@example.com"
    row.passwordHash = "old:correct horse"
    edit(&row)
    return row
  }

  private func importing(
    _ rows: [ImportRow], dryRun: Bool = false, _ environment: Environment? = nil
  ) async throws -> [ImportVerdict] {
    try await ImportAccounts(environment ?? world.environment, world.call())(rows, dryRun: dryRun)
  }

  private func reasons(_ verdicts: [ImportVerdict]) -> [String] {
    verdicts.map { verdict in
      if case .refused(let failure) = verdict { failure.field ?? failure.reason.rawValue } else { "\(verdict)" }
    }
  }

  @Test(arguments: [1, 49, 50, 51, 120])
  func `is imported as a whole, and each account is recorded`(count: Int) async throws {
    let verdicts = try await importing((0..<count).map { row($0) })
    #expect(verdicts == [ImportVerdict](repeating: .imported, count: count))
    #expect(world.store.contents.accounts.count == count && world.store.contents.audit.count == count)
    #expect(world.store.contents.events(of: "id-0") == ["ACCOUNT_IMPORTED"])
  }

  @Test func `a row in error does not affect others, and the first of two equal rows is imported`() async throws {
    let identity = ImportRow.Identity(
      key: IdentityKey(providerID: "google.com", subject: "g"), email: nil, displayName: "", photoURL: "")
    let verdicts = try await importing([
      row(0), row(1) { $0.id = "id-0" }, row(2) { $0.email = "person0@example.com" },
      row(3) { $0.phoneNumber = "+491" }, row(4) { $0.phoneNumber = "+491" },
      row(5) { $0.identities = [identity] }, row(6) { $0.identities = [identity] },
      row(7) { $0.identities = [identity, identity] }, row(8) { $0.id = "not one" }, row(9),
    ])
    #expect(
      reasons(verdicts) == [
        "imported", "account_id", "email", "imported", "phone_number", "imported", "providers", "providers",
        "account_id", "imported",
      ])
    #expect(Set(world.store.contents.accounts.keys) == ["id-0", "id-3", "id-5", "id-9"])
  }

  @Test func `a dry run returns the same result and writes nothing`() async throws {
    world.store.insert(account(.unverified("person1@example.com")))
    let before = world.store.contents
    let rows = [row(0), row(1), row(2)]
    let dry = try await importing(rows, dryRun: true)
    #expect(reasons(dry) == ["imported", "email", "imported"] && world.store.contents == before)
    #expect(try await importing(rows) == dry)
  }

  @Test func `a second run changes nothing, and imports the remaining rows`() async throws {
    _ = try await importing((0..<60).map { row($0) })
    let before = world.store.contents
    let again = try await importing((0..<61).map { row($0) })
    #expect(again.prefix(60).allSatisfy { $0 == .unchanged } && again.last == .imported)
    #expect(world.store.contents.accounts.count == 61 && world.store.contents.audit.count == before.audit.count + 1)
  }

  @Test func `an email address that is taken during the import fails its row and no other`() async throws {
    let environment = world.environment { store in
      store.insert(account(.unverified("person1@example.com")))
    }
    let verdicts = try await importing((0..<3).map { row($0) }, environment)
    #expect(reasons(verdicts) == ["imported", "email", "imported"])
    #expect(Set(world.store.contents.accounts.keys) == ["id-0", "account-y", "id-2"])
  }

  @Test func `its users sign in with their old passwords, which replaces the hashes`() async throws {
    _ = try await importing([row(0)])
    let credential = Credential.password(email: "person0@example.com", password: "correct horse")
    _ = try await world.signIn(credential).grant
    #expect(world.store.state("id-0")?.account.passwordHash == "hash:correct horse")
    _ = try await world.signIn(credential).grant
  }

  @Test func `S8 an imported number is older than any later conflict, and completes a changed subject`()
    async throws
  {
    let world = World.sending()
    let old = ImportRow.Identity(
      key: IdentityKey(providerID: "google.com", subject: "old"), email: ada, displayName: "", photoURL: "")
    let said = row(0) { row in
      (row.email, row.phoneNumber, row.identities) = (ada, number, [old])
    }
    _ = try await importing([said], world.environment)
    world.clock.advance(millis: 1)
    let exists = try await world.signIn(google("new")).exists
    world.clock.advance(millis: 1)
    _ = try await world.unlink("google.com", try world.session(of: "id-0"))
    let grant = try await world.signIn(world.phoneCode(), pendingToken: exists.handle).grant
    #expect(grant.account.identities.map(\.key.subject) == ["new"])
  }

  @Test func `3.5 a reset removes an imported number with all methods from before the address was verified`()
    async throws
  {
    let world = World.sending()
    let said = row(0) { row in
      (row.email, row.phoneNumber) = (ada, number)
    }
    _ = try await importing([said], world.environment)
    world.clock.advance(millis: 1)
    let session = try world.session(of: "id-0")
    _ = try await world.confirm(world.verification(session), session)
    #expect(try await world.reset(world.passwordReset()).revokedProviderIDs == ["phone"])
  }

  @Test func `a former service's key is stored once, sealed, under a fixed name`() async throws {
    let importing = ImportAccounts(world.environment, world.call())
    let bytes: [UInt8] = [1, 2, 3, 4]
    let id = ImportAccounts.keyID(bytes, world.cryptography)
    #expect(id == ImportAccounts.keyID(bytes, world.cryptography) && id.utf8.count == 22)
    #expect(id != ImportAccounts.keyID([1], world.cryptography))
    try await importing.keep(ImportKey(id: id, bytes: bytes))
    let kept = try #require(world.store.contents.importKeys[id])
    #expect(!kept.sealedKey.contains(bytes))
    #expect(world.cryptography.open(kept.sealedKey, context: ImportAccounts.context(ofKey: id)) == bytes)
    #expect(world.cryptography.open(kept.sealedKey, context: ImportAccounts.context(ofKey: "other")) == nil)
    world.clock.advance(millis: 1_000)
    try await importing.keep(ImportKey(id: id, bytes: bytes))
    #expect(world.store.contents.importKeys == [id: kept])
  }
}

struct `An export` {
  let world = World()

  @Test func `has every account once, and records an export that includes the hashes`() async throws {
    for number in 0..<250 { world.store.insert(account(id: "id-\(number)")) }
    for (includesSecrets, events) in [(false, []), (true, ["ACCOUNTS_EXPORTED"])] {
      let export = ExportAccounts(world.environment, world.call(), includesSecrets: includesSecrets)
      var (ids, after, isOver) = ([String](), nil as String?, false)
      while !isOver {
        let page = try await export.page(after: after)
        ids += page.accounts.map(\.account.id)
        after = page.accounts.last?.account.id
        isOver = page.nextToken == nil
      }
      #expect(ids == world.store.contents.accounts.keys.sorted())
      #expect(world.store.contents.audit.map(\.event) == events)
    }
  }
}
