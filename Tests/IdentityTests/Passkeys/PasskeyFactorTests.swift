import Store
import Testing

@testable import Identity

/// Row P16: a passkey as a second factor.
struct `Passkeys as second factors` {
  let world = World { $0.passkeyEnabled = true }

  /// Enrols a passkey, and returns it with the session and its recovery codes.
  func enrolled() async throws -> (FakeAuthenticator, FinishedEnrollment) {
    world.insertPerson([])
    var key = FakeAuthenticator(verifiesUser: false)
    let session = try world.session(of: "account-y")
    let started = try await world.startEnrollment(.passkey, session)
    key.userHandle = world.passkeys.lastCreation?.challenge.userHandle ?? []
    let finished = try await FinishEnrollment(world.environment)(
      FinishEnrollmentRequest(
        idToken: session.idToken, enrollmentID: started.enrollmentID, code: "",
        credentialJSON: key.response(to: started.optionsJSON)), world.call())
    return (key, finished)
  }

  @Test func `P16: an enrolled passkey is a factor with recovery codes, and no sign-in method`() async throws {
    let (key, finished) = try await enrolled()
    let state = finished.grant.account
    #expect(state.passkeys.isEmpty && state.factors.map(\.kind) == [.passkey, .recoveryCode])
    #expect(finished.recoveryCodes.count == 10)
    #expect(try world.claims(finished.grant).methods == ["pwd", "pop", "mfa"])
    await refused(.invalidPasskey) { try await world.signIn(try await world.credential(key)) }
  }

  @Test func `P16: it follows a password, with the options of StartSecondFactor`() async throws {
    var (key, finished) = try await enrolled()
    key.signCount = 1
    let factorID = finished.grant.account.factors[0].id
    let required = try await world.signIn(rightPassword).required
    let first = try await world.start(required, factorID)
    let started = try await world.start(required, factorID)
    func finish(_ options: String) async throws -> FinishSecondFactorAnswer {
      try await FinishSecondFactor(world.environment)(
        FinishSecondFactorRequest(
          handle: required.handle, factorID: factorID, code: "", credentialJSON: key.response(to: options)),
        world.call())
    }
    let failure = await refused(.invalidPasskey) { try await finish(first.optionsJSON) }
    #expect(failure?.field == "passkey_credential_json" && failure?.metadata == ["check": "challenge"])
    let grant = try await finish(started.optionsJSON).grant
    #expect(try world.claims(grant).signInSecondFactorID == factorID)
    await refused(.pendingCredentialUsed) { try await finish(started.optionsJSON) }
  }

  @Test func `P16: a challenge is valid for five minutes, and the attempt longer`() async throws {
    let (key, finished) = try await enrolled()
    let factorID = finished.grant.account.factors[0].id
    let required = try await world.signIn(rightPassword).required
    let lifetimeMillis = world.environment.policy.passkeyChallengeLifetimeMillis
    func finish(_ options: String) async throws -> FinishSecondFactorAnswer {
      try await FinishSecondFactor(world.environment)(
        FinishSecondFactorRequest(
          handle: required.handle, factorID: factorID, code: "", credentialJSON: key.response(to: options)),
        world.call())
    }
    let first = try await world.start(required, factorID)
    #expect(first.expiresAt == world.now.adding(millis: lifetimeMillis))
    world.clock.advance(millis: lifetimeMillis)
    let failure = await refused(.invalidPasskey) { try await finish(first.optionsJSON) }
    #expect(failure?.metadata == ["check": "challenge"])
    let second = try await world.start(required, factorID)
    world.clock.advance(millis: lifetimeMillis / 2)
    _ = try await finish(second.optionsJSON).grant
  }

  @Test func `P16: an enrolment of a passkey is valid for five minutes`() async throws {
    world.insertPerson([])
    var key = FakeAuthenticator(verifiesUser: false)
    let session = try world.session(of: "account-y")
    let started = try await world.startEnrollment(.passkey, session)
    let lifetimeMillis = world.environment.policy.passkeyChallengeLifetimeMillis
    #expect(started.expiresAt == world.now.adding(millis: lifetimeMillis))
    key.userHandle = world.passkeys.lastCreation?.challenge.userHandle ?? []
    world.clock.advance(millis: lifetimeMillis)
    await refused(.expiredCode) {
      try await FinishEnrollment(world.environment)(
        FinishEnrollmentRequest(
          idToken: session.idToken, enrollmentID: started.enrollmentID, code: "",
          credentialJSON: key.response(to: started.optionsJSON)), world.call())
    }
  }

  @Test func `P12: a sign count of a factor that does not rise is an event, and by policy a rejection`() async throws {
    var (key, finished) = try await enrolled()
    let factorID = finished.grant.account.factors[0].id
    func finish(_ world: World) async throws -> FinishSecondFactorAnswer {
      let required = try await world.signIn(rightPassword).required
      let started = try await world.start(required, factorID)
      return try await FinishSecondFactor(world.environment)(
        FinishSecondFactorRequest(
          handle: required.handle, factorID: factorID, code: "",
          credentialJSON: key.response(to: started.optionsJSON)), world.call())
    }
    key.signCount = 5
    _ = try await finish(world).grant
    #expect(!world.events.contains("PASSKEY_CLONE_SUSPECTED"))
    _ = try await finish(world).grant
    let note = try #require(world.store.contents.audit.last { $0.event == "PASSKEY_CLONE_SUSPECTED" })
    #expect(note.accountID == "account-y" && note.detailsJSON.contains(factorID))
    #expect(note.detailsJSON.contains(#""rejected":"false""#))
    var strict = world
    strict.policy.passkeySignCount = .reject
    let failure = await refused(.invalidPasskey) { try await finish(strict) }
    #expect(failure?.metadata == ["check": "sign_count"] && failure?.field == "passkey_credential_json")
    #expect(world.events.filter { $0 == "PASSKEY_CLONE_SUSPECTED" }.count == 2)
    key.signCount = 6
    _ = try await finish(strict).grant
  }

  @Test func `P16: a credential id that was registered before cannot be enrolled`() async throws {
    var key = FakeAuthenticator(verifiesUser: false)
    _ = try await world.signUp(&key)
    await refused(.passkeyExists) { try await enrolled() }
  }

  @Test func `P16: a passkey that signed in is followed by another kind of factor only`() async throws {
    let (_, finished) = try await enrolled()
    var first = FakeAuthenticator("key-first")
    try await world.register(&first, finished.grant)
    first.verifiesUser = false
    await refused(.unsupportedFirstFactor) { try await world.signIn(try await world.credential(first)) }
    first.verifiesUser = true
    _ = try await world.signIn(try await world.credential(first)).grant
  }
}
