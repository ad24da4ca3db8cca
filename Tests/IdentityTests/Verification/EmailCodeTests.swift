import Store
import Testing

@testable import Identity

/// Section 12: codes of six digits by email.
@Suite struct `Codes by email` {
  let world = World.mailingCodes()

  @Test func `a code signs up a new address as verified, and then signs in`() async throws {
    let first = try await world.signIn(world.emailCode()).grant
    let message = try world.lastMessage()
    #expect(message.kind == .emailCode && message.locale == "de" && Set(message.values.keys) == ["code"])
    #expect(message.values["code"]?.wholeMatch(of: /[0-9]{6}/) != nil)
    let account = first.account.account
    #expect(first.isNewAccount && account.email == ada && account.emailLink)
    #expect(account.emailAddress?.verification == .emailLink)
    #expect(try world.claims(first).signInProviderID == "emailLink")
    let again = try await world.signIn(world.emailCode()).grant
    #expect(!again.isNewAccount && again.account.account.id == account.id)
  }

  @Test func `a code is valid once, for ten minutes and until the next one of its purpose`() async throws {
    let used = try await world.emailCode()
    _ = try await world.signIn(used)
    await refused(.expiredCode) { try await world.signIn(used) }
    let former = try await world.emailCode()
    let latter = try await world.emailCode()
    let reset = try await world.digits(for: .resetPassword)
    await refused(.invalidCode) { try await world.signIn(former) }
    world.clock.advance(millis: 599_999)
    _ = try await world.signIn(latter)
    _ = try await world.reset(reset)
    let late = try await world.emailCode()
    world.clock.advance(millis: 600_000)
    await refused(.expiredCode) { try await world.signIn(late) }
  }

  @Test func `a code has five tries, in every call that takes it`() async throws {
    world.store.insert(account(.unverified(ada), password: true))
    let session = try world.session(of: "account-y")
    let signIn = try await world.digits(field: EmailDigits.credential)
    for _ in 0..<5 { await refused(.invalidCode) { try await world.signIn(.emailCode(signIn.mistyped)) } }
    await refused(.expiredCode) { try await world.signIn(.emailCode(signIn)) }
    let confirm = try await world.digits(for: .verifyEmail, in: session)
    for _ in 0..<5 { await refused(.invalidCode) { try await world.confirm(confirm.mistyped, session) } }
    await refused(.expiredCode) { try await world.confirm(confirm, session) }
    let reset = try await world.digits(for: .resetPassword)
    for _ in 0..<5 { await refused(.invalidCode) { try await world.reset(reset.mistyped) } }
    await refused(.expiredCode) { try await world.reset(reset) }
    let signUp = try await world.digits(for: .signUp, to: "free@example.com")
    for _ in 0..<5 {
      await refused(.invalidCode) { try await world.create(signUp.mistyped, email: "free@example.com") }
    }
    await refused(.expiredCode) { try await world.create(signUp, email: "free@example.com") }
  }

  @Test func `the right digits are accepted after four wrong tries, and reset the count of the address`() async throws {
    let world = World.mailingCodes { $0.throttles[.codeFailuresPerAccount].countMax = 5 }
    for _ in 0..<3 {
      let code = try await world.digits(field: EmailDigits.credential)
      for _ in 0..<4 { await refused(.invalidCode) { try await world.signIn(.emailCode(code.mistyped)) } }
      _ = try await world.signIn(.emailCode(code))
    }
  }

  @Test func `brute force: thirty wrong digits over any number of codes block the address`() async throws {
    // Each code allows five of a million values. Then the address is blocked, for 15 minutes at first.
    // `the guesses of codes` computes how many follow in days.
    var tries = 0
    let world = World.mailingCodes { $0.throttles[.sendsPerRecipient].countMax = 1_000 }
    for _ in 0..<6 {
      let code = try await world.digits(field: EmailDigits.credential)
      for _ in 0..<5 {
        await refused(.invalidCode) { try await world.signIn(.emailCode(code.mistyped)) }
        tries += 1
      }
    }
    #expect(tries == 30)
    let next = try await world.digits(field: EmailDigits.credential)
    await refused(.tooManyAttempts) { try await world.signIn(.emailCode(next.mistyped)) }
    await refused(.tooManyAttempts) { try await world.signIn(.emailCode(next)) }
    let reset = try await world.digits(for: .resetPassword)
    await refused(.tooManyAttempts) { try await world.reset(reset) }
    // An attacker cannot guess a link, and its reader has the mailbox (check 105).
    _ = try await world.signIn(world.emailLink(to: ada)).grant
    _ = try await world.signIn(world.emailCode()).grant
  }

  @Test func `check 105: other users who use up an address's messages do not block a reauthentication by code`()
    async throws
  {
    let world = World.mailingCodes {
      ($0.throttles[.sendsPerRecipient].countMax, $0.throttles[.sendsOnKnownDevices].countMax) = (2, 2)
    }
    let session = try await world.signIn(world.emailCode()).grant
    let stranger = world.call(deviceID: "other")
    _ = try await world.digits(stranger)
    await refused(.tooManyAttempts) { try await world.digits(stranger) }
    for _ in 0..<2 { _ = try await world.digits(for: .reauthenticate, in: session) }
    await refused(.tooManyAttempts) { try await world.digits(for: .reauthenticate, in: session) }
  }

  @Test func `an equal call under the key that finds its code used answers like the one that used it`() async throws {
    let code = try await world.emailCode()
    let before = world.store.contents
    let first = try await world.signIn(code, world.call(key: "k")).grant
    let after = world.store.contents
    world.store.edit { $0 = before }
    // The other call commits after this one has looked for its record.
    let environment = world.environment(before: .firstLoad) { store in store.edit { $0 = after } }
    let again = try await SignIn(environment)(SignInRequest(credential: code), world.call(key: "k")).grant
    #expect(again.sessionID == first.sessionID && again.isNewAccount)
    await refused(.expiredCode) { try await world.signIn(code, world.call(key: "other")) }
  }

  @Test func `a rejected code states its kind for the metrics`() async throws {
    let digits = try await world.digits(field: EmailDigits.credential)
    var failure = await refused(.invalidCode) { try await world.signIn(.emailCode(digits.mistyped)) }
    #expect(failure?.rejectedCode == .emailCode)
    let link = try await world.emailLink()
    world.clock.advance(millis: 6 * 3_600_000)
    failure = await refused(.expiredCode) { try await world.signIn(link) }
    #expect(failure?.rejectedCode == .emailLink)
    guard case .phoneCode(let id, _) = try await world.phoneCode() else { return }
    failure = await refused(.invalidCode) { try await world.signIn(.phoneCode(verificationID: id, digits: "x")) }
    #expect(failure?.rejectedCode == .phone)
    world.insertPerson()
    let required = try await world.signIn(rightPassword).required
    failure = await refused(.invalidCode) { try await world.finish(required, "factor-totp", "000000") }
    #expect(failure?.rejectedCode == .secondFactor)
    failure = await refused(.invalidLoginCredentials) { try await world.signIn(.password(email: ada, password: "x")) }
    #expect(failure?.rejectedCode == nil)
  }

  @Test func `digits tried under the key of an earlier call count as wrong`() async throws {
    let code = try await world.digits(field: EmailDigits.credential)
    _ = try await world.signIn(.emailCode(code), world.call(key: "k"))
    for number in 1...30 {
      let call = world.call(key: "k", request: "\(number)")
      await refused(.idempotencyKeyReused) { try await world.signIn(.emailCode(code.mistyped), call) }
    }
    await refused(.tooManyAttempts) { try await world.signIn(.emailCode(code), world.call(key: "k")) }
  }

  @Test func `a code of another caller, binding or purpose fails like an unknown one`() async throws {
    func mine() -> CallFacts { world.call(binding: "browser of ada") }
    let code = try await world.digits(field: EmailDigits.credential, mine())
    var refusals: [Failure?] = []
    for call in [
      world.call(), world.call(binding: "browser of eve"), world.call(caller: "x", binding: "browser of ada"),
    ] {
      refusals.append(await refused(.invalidCode) { try await world.signIn(.emailCode(code), call) })
    }
    var other = code
    other.field = "code"
    refusals.append(await refused(.invalidCode) { try await world.reset(other, mine()) })
    #expect(Set(refusals.map { $0?.hint }).count == 1)
    #expect(try await world.signIn(.emailCode(code), mine()).grant.isNewAccount)
  }

  @Test func `the id of a code alone redeems nothing, and CheckCode does not know it`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let reset = try await world.digits(for: .resetPassword)
    await refused(.invalidCode) {
      try await ResetPassword(world.environment)(
        .link(code: reset.verificationID), newPassword: "battery staple", world.call())
    }
    await refused(.invalidCode) { try await world.check(reset.verificationID) }
    await refused(.invalidCode) { try await world.signIn(.emailLink(email: ada, code: reset.verificationID)) }
  }

  @Test func `check 39: a known and an unknown address get the same answer and the same writes`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    for purpose in [EmailCodePurpose.signIn, .signUp, .resetPassword] {
      let before = world.store.contents.pendings.count
      var answers: [EmailCodeSent] = []
      for target in [ada, "nobody@example.com"] {
        let request = SendEmailCodeRequest(email: target, purpose: purpose)
        answers.append(try await SendEmailCode(world.environment)(request, world.call()))
      }
      #expect(Set(answers.map(\.expiresAt)) == [world.now.adding(millis: 600_000)])
      #expect(Set(answers.map(\.verificationID.count)).count == 1)
      #expect(world.store.contents.pendings.count == before + 2)
      for answer in answers {
        let digits = EmailDigits(verificationID: answer.verificationID, digits: "x", field: "code")
        switch purpose {
        case .resetPassword: await refused(.invalidCode) { try await world.reset(digits) }
        case .signUp: await refused(.invalidCode) { try await world.create(digits) }
        default: await refused(.invalidCode) { try await world.signIn(.emailCode(digits)) }
        }
      }
    }
    let kinds = world.store.contents.deliveries.map(\.kind)
    #expect(kinds == ["email_code", "email_code", "sign_up_known", "sign_up_code", "reset_password_code"])
  }

  @Test func `switched off, no code is sent and none is accepted`() async throws {
    for edit: @Sendable (inout Policy) -> Void in [{ $0.mailEnabled = false }, { $0.emailCodes = .off }] {
      let closed = World.mailingCodes(policy: edit)
      await refused(.operationNotAllowed) { try await closed.digits() }
      #expect(closed.store.contents.pendings.isEmpty)
    }
    let closed = World.sending()
    let digits = EmailDigits(verificationID: "x", digits: "123456")
    await refused(.operationNotAllowed) { try await closed.signIn(.emailCode(digits)) }
    let withoutPasswords = World.mailingCodes { $0.passwordEnabled = false }
    for purpose in [EmailCodePurpose.signUp, .resetPassword] {
      await refused(.operationNotAllowed) { try await withoutPasswords.digits(for: purpose) }
    }
  }

  @Test func `fifty redemptions of one code sign in once`() async throws {
    let store = MemoryStore(meetsRaces: true)
    let world = World.mailingCodes(store: store)
    let code = try await world.emailCode()
    let sessions = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<50 { group.addTask { if case .session? = try? await world.signIn(code) { 1 } else { 0 } } }
      return await group.reduce(0, +)
    }
    #expect(sessions == 1 && store.contents.accounts.count == 1)
  }
}

/// Section 12: a code and a link in one email.
@Suite struct `A code and a link in one email` {
  let world = World.mailingCodes()

  private func link() throws -> String { try world.lastCode() }

  @Test func `the email has both, and either makes the other invalid`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let digits = try await world.digits(page: page, field: EmailDigits.credential)
    let message = try world.lastMessage()
    #expect(Set(message.values.keys) == ["code", "link"])
    #expect(message.values["link"]?.hasPrefix(page + "?mode=signIn&code=") == true)
    let code = try link()
    _ = try await world.signIn(.emailCode(digits))
    await refused(.invalidCode) { try await world.signIn(.emailLink(email: ada, code: code)) }
    let second = try await world.digits(page: page, field: EmailDigits.credential)
    _ = try await world.signIn(.emailLink(email: ada, code: try link()))
    await refused(.invalidCode) { try await world.signIn(.emailCode(second)) }
  }

  @Test func `a reset, a sign-up and a change void the other too`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let reset = try await world.digits(for: .resetPassword, page: page)
    _ = try await world.reset(try link())
    await refused(.invalidCode) { try await world.reset(reset) }
    let signUp = try await world.digits(for: .signUp, to: "new@example.com", page: page)
    let signUpLink = try link()
    _ = try await world.create(signUp, email: "new@example.com").grant
    await refused(.invalidCode) { try await world.check(signUpLink) }
    let session = try world.session(of: "account-y")
    let change = try await world.digits(for: .changeEmail, to: "ada@new.example", page: page, in: session)
    let changeLink = try link()
    _ = try await world.confirm(change, session)
    await refused(.invalidCode) { try await world.check(changeLink) }
  }

  @Test func `a link scanner uses nothing up, and the code stays valid`() async throws {
    let digits = try await world.digits(page: page, field: EmailDigits.credential)
    let code = try link()
    for _ in 0..<20 { #expect(try await world.check(code).mode == .signIn) }
    #expect(try await world.signIn(.emailCode(digits)).grant.isNewAccount)
  }

  @Test func `of fifty redemptions of the code and the link of one email, one signs in`() async throws {
    let store = MemoryStore(meetsRaces: true)
    let world = World.mailingCodes(store: store)
    let digits = Credential.emailCode(try await world.digits(page: page, field: EmailDigits.credential))
    let link = Credential.emailLink(email: ada, code: try world.lastCode())
    let sessions = await withTaskGroup(of: Int.self) { group in
      for number in 0..<50 {
        let credential = number.isMultiple(of: 2) ? digits : link
        group.addTask { if case .session? = try? await world.signIn(credential) { 1 } else { 0 } }
      }
      return await group.reduce(0, +)
    }
    #expect(sessions == 1 && store.contents.accounts.count == 1)
  }

  @Test func `wrong digits leave the link valid`() async throws {
    let digits = try await world.digits(page: page, field: EmailDigits.credential)
    let code = try link()
    for _ in 0..<5 { await refused(.invalidCode) { try await world.signIn(.emailCode(digits.mistyped)) } }
    #expect(try await world.signIn(.emailLink(email: ada, code: code)).grant.isNewAccount)
  }

  @Test func `the policy decides whether an email has a link`() async throws {
    let alone = World.mailingCodes { $0.emailCodes = .code }
    _ = try await alone.digits(page: page)
    #expect(try Set(alone.lastMessage().values.keys) == ["code"])
    let withoutLinks = World.mailingCodes { $0.emailLinkEnabled = false }
    _ = try await withoutLinks.digits(page: page)
    #expect(try Set(withoutLinks.lastMessage().values.keys) == ["code"], "no sign-in link")
    _ = try await withoutLinks.digits(for: .signUp, page: page)
    #expect(try Set(withoutLinks.lastMessage().values.keys) == ["code", "link"])
    await refused(.redirectURINotAllowed) { try await world.digits(page: "https://evil.example/") }
  }
}
