import Store
import Testing

@testable import Identity

struct `Codes of second factors` {
  let world = World()

  private func step(of code: String, after last: Int64? = nil) -> Int64? {
    TOTP.step(of: code, totpSecret, after: last, at: world.now, world.cryptography)
  }

  @Test func `a code of the current step and of the steps next to it is valid, and no other`() {
    let present = TOTP.step(at: world.now)
    for offset in -1...1 as ClosedRange<Int64> { #expect(step(of: world.totpCode(offset)) == present + offset) }
    for offset in [-3, -2, 2, 3] as [Int64] { #expect(step(of: world.totpCode(offset)) == nil) }
  }

  @Test func `the window moves at the edge of a step, to the millisecond`() {
    let code = world.totpCode()
    world.clock.advance(millis: 2 * TOTP.stepMillis - world.now.millis % TOTP.stepMillis - 1)
    #expect(step(of: code) != nil)
    world.clock.advance(millis: 1)
    #expect(step(of: code) == nil)
  }

  @Test func `check 107: a step is accepted once, and no earlier step after it`() {
    let present = TOTP.step(at: world.now)
    #expect(step(of: world.totpCode(), after: present) == nil)
    #expect(step(of: world.totpCode(-1), after: present) == nil)
    #expect(step(of: world.totpCode(1), after: present) == present + 1)
  }

  @Test(arguments: ["", "12345", "1234567", "abcdef", "１２３４５６"])
  func `text that is not a code matches no step`(text: String) { #expect(step(of: text) == nil) }

  @Test func `an authenticator's URI names issuer, account and secret, each in its own place`() {
    let uri = TOTP.uri(secret: totpSecret, issuer: "A & B", account: "ada+1@example.com")
    #expect(
      uri == "otpauth://totp/A%20%26%20B:ada%2B1%40example.com?secret=AEBAGBAFAYDQQCIKBMGA2DQPCAIREEYU"
        + "&issuer=A%20%26%20B&algorithm=SHA1&digits=6&period=30")
  }

  @Test func `check 107: a recovery code is valid once, in any spelling, and the others stay valid`() throws {
    let (codes, texts) = RecoveryCodes.make(world.randomness, world.cryptography)
    #expect(Set(texts).count == 10)
    #expect(texts.allSatisfy { $0.wholeMatch(of: /[a-z2-7]{4}(-[a-z2-7]{4}){3}/) != nil }, "80 bits")
    let spelt = texts[4].uppercased().replacing("-", with: " ")
    let rest = try #require(codes.using(spelt, world.cryptography))
    #expect(rest.digests.count == 9 && rest.using(texts[4], world.cryptography) == nil)
    #expect(rest.using(texts[5], world.cryptography) != nil)
    #expect(codes.using("aaaa-aaaa-aaaa-aaaa", world.cryptography) == nil)
    #expect(codes.using("", world.cryptography) == nil)
  }

  @Test func `a secret opens only for the factor and the account that it was sealed for`() {
    let state = world.insertPerson()
    let factor = state.factors[0]
    #expect(world.environment.secret(of: factor) == .totp(secret: totpSecret, lastStep: nil))
    var changes: [FactorRecord] = [factor, factor, factor]
    changes[0].id = "another"
    changes[1].accountID = "another"
    changes[2].kind = .recoveryCode
    #expect(changes.allSatisfy { world.environment.secret(of: $0) == nil })
    #expect(state.factors.allSatisfy { !$0.sealedSecret.starts(with: totpSecret) })
  }

  @Test func `a sent code has six digits, and all digits are equally likely`() {
    let codes = (0..<2_000).map { _ in
      world.environment.newCode(for: "f", expiresAt: world.now, attemptsLeft: 5, after: nil).code.code
    }
    #expect(codes.allSatisfy { $0.wholeMatch(of: /[0-9]{6}/) != nil })
    let counts = Dictionary(codes.joined().map { ($0, 1) }, uniquingKeysWith: +).values
    #expect(counts.count == 10 && counts.allSatisfy { (1_050...1_350).contains($0) }, "12,000 digits")
  }
}
