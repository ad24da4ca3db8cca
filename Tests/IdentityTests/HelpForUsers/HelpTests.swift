import Store
import Testing

@testable import Identity

struct `Help for a user by administrators` {
  let world = World {
    $0.mailEnabled = true
    $0.throttles[.passwordFailuresPerAccount].countMax = 3
    $0.throttles[.passwordFailuresPerDevice].countMax = 3
  }

  init() { world.store.insert(account(.verified(ada), password: true)) }

  private var admin: CallFacts { world.call(caller: "support", ipAddress: "", deviceID: "") }

  private func fail(_ count: Int, deviceID: String = "device") async {
    for _ in 0..<count {
      _ = try? await world.signIn(.password(email: ada, password: "wrong"), world.call(deviceID: deviceID))
    }
  }

  private func unlock(_ subject: AccountSubject) async throws -> [ThrottleKind] {
    try await Unlock(world.environment)(subject, admin).map(\.kind)
  }

  // MARK: Unlock

  @Test(arguments: [AccountSubject.email(ada), .accountID("account-y")])
  func `unlocking ends the blocks of the account and its devices, with one event`(
    subject: AccountSubject
  ) async throws {
    _ = try await world.signIn(rightPassword)
    await fail(3)
    await fail(3, deviceID: "other")
    await refused(.tooManyAttempts) { try await world.signIn(rightPassword) }
    await refused(.tooManyAttempts) { try await world.signIn(rightPassword, world.call(deviceID: "other")) }
    let lifted = try await unlock(subject)
    #expect(Set(lifted) == [.passwordFailuresPerAccount, .passwordFailuresPerDevice])
    _ = try await world.signIn(rightPassword).grant
    _ = try await world.signIn(rightPassword, world.call(deviceID: "other")).grant
    let event = try #require(world.store.contents.audit.first { $0.event == "UNLOCKED" })
    #expect(event.accountID == "account-y" && event.caller == CallerName("support"))
    #expect(event.detailsJSON == #"{"by":"administrator","lifted":"2"}"#)
  }

  @Test func `without a block the counts start again, and without counts nothing is written`() async throws {
    await fail(2)
    #expect(try await unlock(.email(ada)) == [])
    #expect(world.store.contents.audit.map(\.event) == ["UNLOCKED"])
    let before = world.store.contents
    #expect(try await unlock(.email(ada)) == [])
    #expect(world.store.contents == before)
    await fail(2)
    _ = try await world.signIn(rightPassword).grant
  }

  @Test func `an address without an account can be unlocked, an unknown id cannot`() async throws {
    for _ in 0..<3 {
      _ = try? await world.signIn(.password(email: "new@example.com", password: "wrong"))
    }
    #expect(try await unlock(.email("new@example.com")) == [.passwordFailuresPerAccount])
    #expect(world.store.contents.audit.map(\.accountID) == [""])
    await refused(.accountNotFound) { try await unlock(.accountID("account-x")) }
  }

  // MARK: Messages

  private func messages(_ accountID: String = "account-y") async throws -> [AccountMessage] {
    try await world.environment.read(ListMessages(world.environment, accountID: accountID))
  }

  private func resend(_ id: String) async throws -> AccountMessage {
    try await ResendMessage(world.environment)(id, admin)
  }

  private func queueReset() async throws -> String {
    _ = try await world.passwordReset(world.call())
    return try #require(world.store.contents.deliveries.last).id
  }

  @Test func `messages show their recipient masked, and their fate`() async throws {
    let id = try await queueReset()
    var message = try #require(try await messages().first)
    #expect(message.id == id && message.kind == "reset_password" && message.maskedRecipient == "a***@example.com")
    #expect(message.state == .waiting(nextAttemptAt: world.now, error: nil))
    world.store.edit { $0.deliveries[0].lastError = "451 try later" }
    message = try #require(try await messages().first)
    #expect(message.state == .waiting(nextAttemptAt: world.now, error: "451 try later"))
    let removal = Write.delivery(.removeSent(id: id, at: world.now, keptUntil: world.now.adding(millis: 9)))
    _ = try await world.store.commit(Change([removal]), commitDecision: CommitDecision())
    #expect(try await messages().map(\.state) == [.sent(at: world.now)])
    await refused(.accountNotFound) { try await messages("account-x") }
  }

  @Test func `a message to an address without an account belongs to none`() {
    let message = OutgoingMessage(.signUp, to: .email("new@example.com"), expiresAt: world.now.adding(millis: 9))
    guard case .delivery(.enqueue(let record, _)) = world.environment.enqueue(message, for: "", now: world.now) else {
      Issue.record("no delivery")
      return
    }
    #expect(record.accountID == nil && record.maskedRecipient == nil)
  }

  @Test func `a message that waits or was given up is sent again, with an event`() async throws {
    let id = try await queueReset()
    world.store.edit { $0.deliveries[0].nextAttemptAt = world.now.adding(millis: 500_000) }
    #expect(try await resend(id).state == .waiting(nextAttemptAt: world.now, error: nil))
    let bury = Write.delivery(
      .bury(id: id, at: world.now, reason: "refused: 550", keptUntil: world.now.adding(millis: 9_000_000)))
    _ = try await world.store.commit(Change([bury]), commitDecision: CommitDecision())
    #expect(
      try await messages().map(\.state) == [.givenUp(at: world.now, reason: "refused: 550", canResend: true)])
    #expect(try await resend(id).state == .waiting(nextAttemptAt: world.now, error: nil))
    let delivery = try #require(world.store.contents.deliveries.first)
    #expect(delivery.buriedAt == nil && world.environment.message(of: delivery) != nil)
    #expect(world.store.contents.events(of: "account-y") == ["MESSAGE_RESENT", "MESSAGE_RESENT"])
  }

  @Test func `a message that was sent, has expired or never existed cannot be sent again`() async throws {
    await refused(.messageNotFound) { try await resend("unknown") }
    let id = try await queueReset()
    world.clock.advance(millis: world.policy.passwordResetLifetimeMillis)
    await refused(.messageContentGone) { try await resend(id) }
    let other = try await queueReset()
    let removal = Write.delivery(.removeSent(id: other, at: world.now, keptUntil: world.now.adding(millis: 9)))
    _ = try await world.store.commit(Change([removal]), commitDecision: CommitDecision())
    await refused(.messageContentGone) { try await resend(other) }
  }

  @Test func `an account's messages are sent again only so often in an hour`() async throws {
    let id = try await queueReset()
    for _ in 0..<10 { _ = try await resend(id) }
    await refused(.tooManyAttempts) { try await resend(id) }
    // The user can still request messages.
    _ = try await queueReset()
  }

  // MARK: Sessions

  @Test func `sessions of an account are listed with ended ones on request`() async throws {
    let (first, second) = (try world.session(of: "account-y"), try world.session(of: "account-y"))
    world.store.edit { $0.sessions[first.sessionID]?.closed = SessionEnd(at: world.now, reason: .revoked) }
    func list(endedToo: Bool, _ id: String = "account-y") async throws -> Set<String> {
      let reading = ListAccountSessions(world.environment, accountID: id, endedToo: endedToo)
      return Set(try await world.environment.read(reading).map(\.id))
    }
    #expect(try await list(endedToo: false) == [second.sessionID])
    #expect(try await list(endedToo: true) == [first.sessionID, second.sessionID])
    await refused(.accountNotFound) { try await list(endedToo: false, "account-x") }
  }

  // MARK: Diagnosis

  @Test func `a diagnosis has all facts of the user from the store`() async throws {
    _ = try await world.signIn(rightPassword)
    world.clock.advance(millis: 60_000)
    let log = FailureLog()
    let credential = Credential.password(email: ada, password: "wrong")
    for _ in 0..<2 {
      let failure = await refused(.invalidLoginCredentials) { try await world.signIn(credential) }
      log.note(try #require(failure), FailedAttempt("SignIn", credential), world.call(), in: world.environment)
    }
    await log.write(to: world.environment)
    _ = try await queueReset()
    for subject in [AccountSubject.email(ada), .accountID("account-y")] {
      let diagnosis = try await DiagnoseSignIn(world.environment)(subject)
      #expect(diagnosis.cause == .wrongPassword && diagnosis.state?.account.id == "account-y")
      #expect(diagnosis.failures.map(\.count) == [2] && diagnosis.messages.count == 1)
      #expect(diagnosis.sessions.count == 1 && diagnosis.pendings.map(\.purpose) == [.resetPassword])
      #expect(diagnosis.methods == ["password"] && diagnosis.passwordIsUsable && diagnosis.blocks.isEmpty)
    }
    await fail(1)
    #expect(try await DiagnoseSignIn(world.environment)(.email(ada)).cause == .blocked)
    _ = try await unlock(.email(ada))
    #expect(try await DiagnoseSignIn(world.environment)(.email(ada)).cause == .wrongPassword)
  }

  @Test func `an address without an account, and an imported hash without its key, are found out`() async throws {
    #expect(try await DiagnoseSignIn(world.environment)(.email("new@example.com")).cause == .noAccount)
    #expect(try await DiagnoseSignIn(world.environment)(.phoneNumber("+441632960999")).cause == .noAccount)
    world.store.edit { $0.accounts["account-y"]?.passwordHash = "foreign:x" }
    #expect(try await DiagnoseSignIn(world.environment)(.email(ada)).cause == .importedPasswordUnusable)
  }

  @Test func `a provider that fails for all users is the cause for those who have it`() async throws {
    world.store.insert(account(.verified(ada), identities: [google()]))
    let log = FailureLog()
    let failure = Failure(.providerMisconfigured)
    log.note(failure, FailedAttempt("StartFlow", method: "google.com"), world.call(), in: world.environment)
    log.note(failure, FailedAttempt("StartFlow", method: "oidc.corp"), world.call(), in: world.environment)
    await log.write(to: world.environment)
    let diagnosis = try await DiagnoseSignIn(world.environment)(.email(ada))
    #expect(diagnosis.cause == .providerFailing && diagnosis.failures.map(\.method) == ["google.com"])
  }
}
