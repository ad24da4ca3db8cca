import Store
import Testing

@testable import Identity

/// S11 and L11: a call that waited for its second factor is decided again completely, and only then written.
struct `Finishing with a second factor` {
  let world = World { $0.textMessagesEnabled = true }

  private func waiting(_ kinds: [FactorKind] = [.totp, .recoveryCode]) async throws -> SecondFactorRequired {
    world.insertPerson(kinds)
    return try await world.signIn(rightPassword).required
  }

  @Test func `a sign-in by password returns a session that names the methods that were shown`() async throws {
    let required = try await waiting()
    #expect(required.factors.map(\.kind) == [.totp, .recoveryCode])
    let grant = try await world.finish(required).grant
    let claims = try world.claims(grant)
    #expect(claims.signInSecondFactor == "totp" && claims.methods == ["pwd", "otp", "mfa"])
    #expect(claims.signInSecondFactorID == "factor-totp")
    #expect(claims.signInProviderID == "password" && claims.authTime == world.now)
    #expect(world.store.state("account-y")?.account.lastSignInAt == world.now)
    await refused(.pendingCredentialUsed) { try await world.finish(required, "factor-totp", world.totpCode(1)) }
  }

  @Test func `the tokens name a recovery code and a phone as the factor that was used`() async throws {
    let required = try await waiting([.totp, .phone, .recoveryCode])
    let recovered = try await world.finish(required, "factor-recovery_code", world.recoveryCodes[9]).grant
    #expect(try world.claims(recovered).methods == ["pwd", "recovery_code", "mfa"])
    let again = try await world.signIn(rightPassword).required
    let started = try await world.start(again, "factor-phone")
    let texted = try await world.finish(
      again, "factor-phone", try world.textedCode(), verificationID: started.verificationID).grant
    #expect(try world.claims(texted).methods == ["pwd", "sms", "mfa"])
    #expect(try world.claims(texted).signInSecondFactor == "phone")
    #expect(try world.claims(texted).signInSecondFactorID == "factor-phone")
  }

  @Test func `a code is valid with pasted blanks, hyphens and full-width digits`() async throws {
    let required = try await waiting([.totp, .phone, .recoveryCode])
    let started = try await world.start(required, "factor-phone")
    let texted = try world.textedCode()
    let hyphened = texted.prefix(3) + "-" + texted.suffix(3) + "\n"
    _ = try await world.finish(
      required, "factor-phone", String(hyphened), verificationID: started.verificationID).grant
    let recovering = try await world.signIn(rightPassword).required
    let written = world.recoveryCodes[0].uppercased().replacing("-", with: " \u{2013} ") + "\t"
    _ = try await world.finish(recovering, "factor-recovery_code", written).grant
    let last = try await world.signIn(rightPassword).required
    let fullWidth = world.totpCode().unicodeScalars.compactMap { Unicode.Scalar($0.value + 0xFEE0) }
    let pasted = String(String.UnicodeScalarView(fullWidth))
    _ = try await world.finish(last, "factor-totp", pasted).grant
  }

  @Test func `check 107: one code signs in once, for any row`() async throws {
    let first = try await waiting()
    let second = try await world.signIn(google()).required
    let code = world.totpCode()
    _ = try await world.finish(first, "factor-totp", code).grant
    await refused(.invalidCode) { try await world.finish(second, "factor-totp", code) }
    _ = try await world.finish(second, "factor-totp", world.totpCode(1)).grant
  }

  @Test func `check 106: five wrong codes end the row, and the right code is valid as the fifth`() async throws {
    let required = try await waiting()
    for _ in 0..<4 { await refused(.invalidCode) { try await world.finish(required, "factor-totp", "wrong") } }
    _ = try await world.finish(required).grant
    let other = try await world.signIn(rightPassword).required
    for _ in 0..<5 { await refused(.invalidCode) { try await world.finish(other, "factor-totp", "wrong") } }
    await refused(.pendingCredentialUsed) { try await world.finish(other, "factor-totp", world.totpCode(1)) }
  }

  @Test func `check 106: five of many concurrent tries are checked, and the others do not reveal the right code`()
    async throws
  {
    let world = World(store: MemoryStore(meetsRaces: true))
    world.insertPerson()
    let required = try await world.signIn(rightPassword).required
    let reasons = await withTaskGroup(of: Failure.Reason?.self) { group in
      for _ in 0..<40 {
        group.addTask {
          do {
            _ = try await world.finish(required, "factor-totp", "wrong")
            return nil
          } catch { return (error as? Failure)?.reason }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(reasons.count { $0 == .invalidCode } == 5)
    #expect(reasons.allSatisfy { [.invalidCode, .pendingCredentialUsed, .overloaded].contains($0) })
    #expect(try world.row(required.handle)?.attemptsLeft == 0)
  }

  @Test func `parallel finishes with one code open one session`() async throws {
    for round in 1...10 as ClosedRange<UInt64> {
      let world = World(store: MemoryStore(meetsRaces: true), seed: round)
      world.insertPerson()
      let rows = [try await world.signIn(rightPassword).required, try await world.signIn(google()).required]
      let opened = await withTaskGroup(of: Bool.self) { group in
        for number in 0..<30 {
          group.addTask { (try? await world.finish(rows[number % 2]).grant) != nil }
        }
        return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
      }
      #expect(opened == 1)
      #expect(world.store.contents.openSessions(of: "account-y").count == 1)
    }
  }

  @Test func `a repeat under the same key returns the same session, and another code under it fails`()
    async throws
  {
    let required = try await waiting()
    let first = try await world.finish(required, world.call(key: "k")).grant
    let again = try await world.finish(required, world.call(key: "k")).grant
    #expect(again.sessionID == first.sessionID)
    await refused(.idempotencyKeyReused) {
      try await world.finish(required, "factor-totp", "1", world.call(key: "k", request: "another"))
    }
  }

  @Test func `a repeat of a call that waits for a factor returns the same pending token`() async throws {
    world.insertPerson([.totp, .phone])
    let first = try await world.signIn(rightPassword, world.call(key: "k")).required
    let again = try await world.signIn(rightPassword, world.call(key: "k")).required
    #expect(again.handle == first.handle && again.expiresAt == first.expiresAt)
    #expect(again.factors.map(\.id) == first.factors.map(\.id) && again.factors.allSatisfy(\.sealedSecret.isEmpty))
    #expect(again.factors.map(\.phoneNumber) == first.factors.map(\.phoneNumber))
    #expect(world.store.contents.pendings.count == 1)
    _ = try await world.finish(again).grant
  }

  @Test func `many wrong codes in a row block the account's codes, across all rows`() async throws {
    world.insertPerson()
    for _ in 0..<6 {
      let required = try await world.signIn(rightPassword).required
      for _ in 0..<5 { await refused(.invalidCode) { try await world.finish(required, "factor-totp", "wrong") } }
    }
    let required = try await world.signIn(rightPassword).required
    let failure = await refused(.tooManyAttempts) { try await world.finish(required) }
    #expect(failure?.retryAfterMillis ?? 0 > 0)
  }

  // MARK: First factors

  @Test func `check 89: Link in a session that began with a phone offers no phone factor, whatever is linked`()
    async throws
  {
    world.insertPerson([.totp, .phone], identities: [])
    let session = try world.session(of: "account-y", by: .phone)
    let required = try await world.link(google(), session).required
    #expect(required.factors.map(\.kind) == [.totp])
    await refused(.secondFactorNotFound) { try await world.start(required, "factor-phone") }
    let linked = try await world.finish(required).grant
    #expect(try world.claims(linked).methods == ["sms", "otp", "mfa", "fed"])
  }

  @Test func `check 89: Link of a phone in a session that began with a password accepts a phone factor`() async throws {
    world.insertPerson([.totp, .phone], identities: [])
    let session = try world.session(of: "account-y")
    let required = try await world.link(world.phoneCode(to: "+15550177", for: .link, in: session), session).required
    #expect(required.factors.map(\.kind) == [.totp, .phone])
    let started = try await world.start(required, "factor-phone")
    let linked = try await world.finish(
      required, "factor-phone", try world.textedCode(), verificationID: started.verificationID).grant
    #expect(linked.account.account.phoneNumber == "+15550177")
    #expect(try world.claims(linked).signInSecondFactor == "phone")
  }

  @Test func `check 89: a first number is not linked if phones are the only second factors`() async throws {
    world.insertPerson([.phone], identities: [])
    let session = try world.session(of: "account-y")
    let code = try await world.phoneCode(to: "+15550177", for: .link, in: session)
    let required = try await world.link(code, session).required
    let started = try await world.start(required, "factor-phone")
    await refused(.unsupportedFirstFactor) {
      try await world.finish(
        required, "factor-phone", try world.textedCode(), verificationID: started.verificationID)
    }
    #expect(world.store.state("account-y")?.account.phoneNumber == nil)
  }

  @Test(arguments: [(["pwd"], [FactorKind.phone]), (["fed"], [.phone]), (["sms", "fed"], [])])
  func `check 89: a method that was linked later does not change what the session began with`(
    methods: [String], offered: [FactorKind]
  ) async throws {
    world.insertPerson([.totp, .phone], identities: [])
    let last = methods == ["sms", "fed"] ? "google.com" : "phone"
    let session = try world.session(of: "account-y", by: FirstFactor(signInProviderID: last, methods: methods))
    let required = try await world.link(corp(), session).required
    #expect(required.factors.map(\.kind) == [.totp] + offered)
  }

  @Test func `check 89: a session that began with a phone cannot link if a phone is the only second factor`()
    async throws
  {
    world.insertPerson([.phone], identities: [])
    let session = try world.session(of: "account-y", by: .phone)
    await refused(.unsupportedFirstFactor) { try await world.link(google(), session) }
    #expect(world.store.contents.pendings.isEmpty)
  }

  // MARK: Phones

  @Test func `check 106: a new code invalidates the earlier one`() async throws {
    let required = try await waiting([.phone])
    let first = try await world.start(required, "factor-phone")
    let firstCode = try world.textedCode()
    let second = try await world.start(required, "factor-phone")
    let secondCode = try world.textedCode()
    await refused(.invalidCode) {
      try await world.finish(required, "factor-phone", firstCode, verificationID: first.verificationID)
    }
    await refused(.invalidCode) {
      try await world.finish(required, "factor-phone", secondCode, verificationID: first.verificationID)
    }
    _ = try await world.finish(
      required, "factor-phone", secondCode, verificationID: second.verificationID).grant
  }

  @Test func `checks 23 and 106: a sent code is valid for its own row and factor only`() async throws {
    let state = world.insertPerson([.phone])
    world.store.edit {
      $0.factors.append(
        FactorRecord(
          id: "other", accountID: state.account.id, kind: .phone, phoneNumber: "+4930123456", enrolledAt: beginning))
    }
    let required = try await world.signIn(rightPassword).required
    let elsewhere = try await world.signIn(rightPassword).required
    let started = try await world.start(required, "factor-phone")
    let code = try world.textedCode()
    for (row, factorID) in [(elsewhere, "factor-phone"), (required, "other")] {
      await refused(.invalidCode) {
        try await world.finish(row, factorID, code, verificationID: started.verificationID)
      }
    }
    await refused(.invalidCode) { try await world.finish(required, "factor-phone", code) }
    _ = try await world.finish(required, "factor-phone", code, verificationID: started.verificationID).grant
  }

  @Test func `a code expires with its row, is sent three times at most, and is stored sealed`() async throws {
    let required = try await waiting([.phone])
    var started = try await world.start(required, "factor-phone")
    #expect(started.expiresAt == required.expiresAt)
    let row = try #require(try world.row(required.handle))
    let code = Array(try world.textedCode().utf8)
    #expect(!row.sealed.indices.contains { row.sealed[$0...].starts(with: code) })
    for _ in 0..<2 { started = try await world.start(required, "factor-phone") }
    let failure = await refused(.tooManyAttempts) { try await world.start(required, "factor-phone") }
    #expect(failure?.retryAfterMillis == nil)
    #expect(world.store.contents.deliveries.count == 3)
    world.clock.advance(millis: 600_000)
    await refused(.pendingCredentialExpired) {
      try await world.finish(
        required, "factor-phone", world.textedCode(), verificationID: started.verificationID)
    }
  }

  @Test func `a code expires after ten minutes although its row is still valid`() async throws {
    let world = World {
      $0.textMessagesEnabled = true
      $0.pendingLifetimeMillis = 900_000
    }
    world.insertPerson([.phone])
    let required = try await world.signIn(rightPassword).required
    let started = try await world.start(required, "factor-phone")
    world.clock.advance(millis: 600_000)
    await refused(.expiredCode) {
      try await world.finish(
        required, "factor-phone", world.textedCode(), verificationID: started.verificationID)
    }
    #expect(try world.row(required.handle)?.attemptsLeft == 5)
  }

  @Test func `a code is sent in the requested language, or in the default language`() async throws {
    let required = try await waiting([.phone])
    for language in ["de-AT", ""] {
      _ = try await world.start(required, "factor-phone", locale: language)
      let message = try world.lastMessage()
      #expect(message.kind == .secondFactorCode && message.locale == language)
    }
  }

  @Test func `no code is sent if text messages are disabled`() async throws {
    let world = World()
    world.insertPerson([.phone])
    let required = try await world.signIn(rightPassword).required
    await refused(.operationNotAllowed) { try await world.start(required, "factor-phone") }
  }

  @Test func `check 89: a phone is not both factors, unless there is another kind`() async throws {
    let phone = SignInMethods.phone
    #expect(account(factors: [.phone, .recoveryCode]).refusal(ofFirstFactor: phone)?.reason == .unsupportedFirstFactor)
    #expect(account(factors: [.phone, .totp]).refusal(ofFirstFactor: phone) == nil)
    #expect(account(factors: [.phone]).refusal(ofFirstFactor: "password") == nil)
    #expect(account().refusal(ofFirstFactor: phone) == nil)
  }

  @Test func `check 89: after a phone code no phone factor is offered or accepted`() async throws {
    let world = World.sending()
    world.insertPerson([.totp, .phone]) { $0.phoneNumber = number }
    let required = try await world.signIn(world.phoneCode()).required
    #expect(required.factors.map(\.kind) == [.totp])
    await refused(.secondFactorNotFound) { try await world.start(required, "factor-phone") }
    await refused(.secondFactorNotFound) { try await world.finish(required, "factor-phone", "123456") }
    _ = try await world.finish(required)
    let byPassword = try await world.signIn(rightPassword).required
    #expect(byPassword.factors.map(\.kind) == [.totp, .phone])
  }

  @Test func `check 105: codes that other users have sent to a number do not keep its owner from a second factor`()
    async throws
  {
    let world = World.sending { $0.throttles[.sendsPerRecipient].countMax = 2 }
    world.insertPerson([.phone])
    let send = SendPhoneCode(world.environment)
    for _ in 0..<2 { _ = try await send(SendPhoneCodeRequest(phoneNumber: adasNumber), world.call()) }
    await refused(.tooManyAttempts) { try await send(SendPhoneCodeRequest(phoneNumber: adasNumber), world.call()) }
    let required = try await world.signIn(rightPassword).required
    _ = try await world.start(required, "factor-phone")
    _ = try await world.start(required, "factor-phone")
    await refused(.tooManyAttempts) { try await world.start(required, "factor-phone") }
  }

  // MARK: Authorization

  @Test func `another caller, browser or purpose gets the same error as an unknown pending token`() async throws {
    world.insertPerson()
    let required = try await world.signIn(rightPassword, world.call(binding: "browser")).required
    let calls = [world.call(), world.call(binding: "other"), world.call(caller: "other", binding: "browser")]
    var failures: [Failure?] = []
    for call in calls {
      failures.append(await refused(.pendingCredentialMismatch) { try await world.finish(required, call) })
      failures.append(
        await refused(.pendingCredentialMismatch) { try await world.start(required, "factor-totp", call) })
    }
    #expect(Set(failures.map { $0?.hint }).count == 1 && failures.allSatisfy { $0?.field == nil })
    #expect(try world.row(required.handle)?.attemptsLeft == 5, "another caller uses up no attempt")
    _ = try await world.finish(required, world.call(binding: "browser")).grant
  }

  @Test func `an unknown factor is not found, and uses up no attempt`() async throws {
    let required = try await waiting()
    await refused(.secondFactorNotFound) { try await world.start(required, "nothing") }
    await refused(.secondFactorNotFound) { try await world.finish(required, "nothing", "1") }
    #expect(try world.row(required.handle)?.attemptsLeft == 5)
  }

  @Test func `a finish of a disabled account fails as disabled and nothing is written`() async throws {
    let required = try await waiting()
    world.store.edit { $0.accounts["account-y"]?.disabled = true }
    #expect(await world.untouched { await refused(.userDisabled) { try await world.finish(required) } })
  }

  @Test func `a deletion of the account removes its rows`() async throws {
    let required = try await waiting()
    world.store.edit { _ = $0.carryOut(Change([.removal(of: "account-y")])) }
    await refused(.pendingCredentialMismatch) { try await world.finish(required) }
  }
}
