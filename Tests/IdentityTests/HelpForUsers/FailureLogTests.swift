import Store
import Synchronization
import Testing

@testable import Identity

struct `Failed attempts for administrators` {
  let world = World()
  let ends = EndCounts()

  init() { world.store.insert(account(.verified(ada), password: true)) }

  private var log: FailureLog { FailureLog { [ends] in ends.add($0, $1) } }

  private var rows: [FailureRecord] { world.store.contents.failures.values.sorted { $0.count > $1.count } }

  /// Signs in with a wrong password, as the service does.
  private func fail(_ log: FailureLog, _ email: String = ada, _ call: CallFacts? = nil) async {
    let call = call ?? world.call()
    let credential = Credential.password(email: email, password: "wrong")
    do {
      _ = try await world.signIn(credential, call)
    } catch let failure as Failure {
      log.note(failure, FailedAttempt("SignIn", credential), call, in: world.environment)
    } catch {
      Issue.record(error)
    }
  }

  @Test func `a failed call writes nothing, and its attempt is one row after the next write`() async throws {
    let log = log
    await fail(log)
    #expect(rows.isEmpty)
    await log.write(to: world.environment)
    let row = try #require(rows.first)
    #expect(rows.count == 1 && row.accountID == "account-y" && row.subject == nil)
    #expect([row.reason, row.call, row.method] == ["INVALID_LOGIN_CREDENTIALS", "SignIn", "password"])
    #expect(row.network == "192.0.2.0/24" && row.caller == world.call().caller)
    #expect(row.device == world.cryptography.keyedDigest(Array("device".utf8), purpose: "device"))
    #expect(row.keptUntil == world.now.adding(millis: 30 * 86_400_000))
    #expect(ends.counts == [.written: 1])
  }

  @Test func `alike attempts of an hour are one row, and those of the next hour another one`() async {
    let log = log
    for _ in 0..<3 { await fail(log) }
    await log.write(to: world.environment)
    for _ in 0..<2 { await fail(log) }
    await log.write(to: world.environment)
    #expect(rows.map(\.count) == [5])
    world.clock.advance(millis: 3_600_000)
    await fail(log)
    await log.write(to: world.environment)
    #expect(rows.map(\.count) == [5, 1])
  }

  @Test func `a flood of wrong passwords from many networks fills a bounded number of rows`() async {
    var rules = world
    rules.policy.throttles[.passwordFailuresPerAccount].countMax = 0
    rules.policy.throttles[.passwordFailuresPerDevice].countMax = 0
    rules.policy.throttles[.passwordFailuresPerCaller].countMax = 0
    let (flooded, log) = (rules, log)
    let attempts = 10_000
    for number in 0..<attempts {
      let address = "10.\(number / 256).\(number % 256).1"
      let call = flooded.call(ipAddress: address, deviceID: "device \(number)")
      let failure = Failure.wrongPassword.concerning("account-y")
      let credential = Credential.password(email: ada, password: "guess")
      log.note(failure, FailedAttempt("SignIn", credential), call, in: flooded.environment)
      if number % 1_000 == 999 { await log.write(to: flooded.environment) }
    }
    await log.write(to: flooded.environment)
    #expect(rows.count == FailureLimits.rowsPerAccountMax + 1)
    #expect(rows.reduce(0) { $0 + $1.count } == attempts)
    #expect(rows.first?.count == attempts - FailureLimits.rowsPerAccountMax && rows.first?.network == "")
  }

  @Test func `attempts with many addresses without an account fill a bounded number of rows`() async {
    let log = log
    for number in 0..<3_000 {
      let call = world.call(ipAddress: "10.0.0.1")
      let attempt = FailedAttempt("SignIn", method: "password", subject: .email("nobody\(number)@example.com"))
      log.note(.wrongPassword, attempt, call, in: world.environment)
      if number % 500 == 499 { await log.write(to: world.environment) }
    }
    #expect(rows.count == FailureLimits.rowsWithoutAccountMax + 1)
    #expect(rows.allSatisfy { $0.accountID.isEmpty })
    #expect(rows.filter { $0.subject != nil }.count == FailureLimits.rowsWithoutAccountMax)
  }

  @Test func `between two writes a bounded number of different attempts waits, and the rest is counted`() async {
    let log = log
    for number in 0..<FailureLimits.waitingMax + 5 {
      let attempt = FailedAttempt("SignIn", method: "password", subject: .email("n\(number)@example.com"))
      log.note(.wrongPassword, attempt, world.call(), in: world.environment)
    }
    #expect(ends.counts == [.overflowed: 5])
  }

  @Test func `no row contains an address, a device or what a client invents`() async {
    let log = log
    let call = world.call(ipAddress: "2001:db8:1:2:3:4:5:6", deviceID: "my device")
    let invented = String(repeating: "x", count: 72)
    log.note(.wrongPassword, FailedAttempt("SignIn", method: invented), call, in: world.environment)
    await fail(log, "stranger@example.com", call)
    await log.write(to: world.environment)
    #expect(rows.count == 2 && rows.allSatisfy { $0.network == "2001:db8:1::/48" })
    let texts = "\(rows)"
    #expect(!["stranger", "my device", "xxx", "3:4:5:6"].contains { texts.contains($0) })
    #expect(Set(rows.map(\.method)) == ["", "password"])
  }

  @Test func `an attempt without an account is found by its address, and by its provider`() async {
    let log = log
    await fail(log, "stranger@example.com")
    log.note(
      Failure(.providerMisconfigured), FailedAttempt("StartFlow", method: "google.com"), world.call(),
      in: world.environment)
    await log.write(to: world.environment)
    let subjects = Set(rows.map(\.subject))
    let wanted = [FailedAttempt.Subject.email("stranger@example.com"), .method("google.com")]
    #expect(subjects == Set(wanted.map { world.environment.failureSubject($0) }))
  }

  @Test func `failures that do not concern a user are not noted`() async {
    let log = log
    for reason in [Failure.Reason.invalidField, .cancelled, .storeUnavailable, .callerNotAllowed] {
      log.note(Failure(reason), FailedAttempt("SignIn"), world.call(), in: world.environment)
    }
    await log.write(to: world.environment)
    #expect(rows.isEmpty && ends.counts.isEmpty)
  }

  @Test func `attempts that the store does not take are counted as lost`() async {
    let log = log
    await fail(log)
    world.store.fail(with: .unavailable("gone"))
    await log.write(to: world.environment)
    #expect(ends.counts == [.lost: 1])
  }

  @Test func `a throttled attempt states its limit and its account`() async throws {
    let log = log
    for _ in 0..<101 { await fail(log) }
    await log.write(to: world.environment)
    let blocked = try #require(rows.first { $0.reason == "TOO_MANY_ATTEMPTS" })
    #expect(blocked.accountID == "account-y" && blocked.limit == "password_failures_per_device"
      || blocked.limit == "password_failures_per_account")
  }

  @Test func `a wrong second factor states its account`() async throws {
    let log = log
    let state = world.insertPerson([.totp])
    let required = try await world.signIn(rightPassword).required
    let request = FinishSecondFactorRequest(
      handle: required.handle, factorID: try #require(required.factors.first).id, code: "000000")
    let failure = await refused(.invalidCode) {
      try await FinishSecondFactor(world.environment)(request, world.call())
    }
    log.note(try #require(failure), FailedAttempt("FinishSecondFactor"), world.call(), in: world.environment)
    await log.write(to: world.environment)
    #expect(rows.map(\.accountID) == [state.account.id])
  }
}

/// What became of attempts.
final class EndCounts: Sendable {
  private let held = Mutex<[FailureLog.End: Int]>([:])

  var counts: [FailureLog.End: Int] { held.withLock { $0 } }

  func add(_ end: FailureLog.End, _ count: Int) { held.withLock { $0[end, default: 0] += count } }
}
