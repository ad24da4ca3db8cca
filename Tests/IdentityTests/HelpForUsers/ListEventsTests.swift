import Store
import Testing

@testable import Identity

struct `Events of an account` {
  let world = World()

  init() {
    world.store.insert(account(.verified(ada), password: true))
    world.store.edit { tables in
      for number in 1...6 {
        let event: AuditEvent = number == 4 ? .linked : .signedIn
        var record = AuditRecord(
          id: "event-\(number)", at: beginning.adding(millis: Int64(number) * 60_000), accountID: "account-y",
          event: event.rawValue, caller: CallerName("shop"))
        record.position = Int64(number)
        tables.audit.append(record)
      }
    }
  }

  /// Inserts failures at a minute, as of an account or of an address without one.
  private func insertFailure(_ minute: Int64, of accountID: String = "account-y", email: String? = nil) {
    let at = beginning.adding(millis: minute * 60_000)
    let key = Digest([UInt8](repeating: UInt8(minute), count: 32))
    let subject = email.flatMap { world.environment.failureSubject(.email($0)) }
    let record = FailureRecord(
      key: key, accountID: accountID, subject: subject, reason: "INVALID_LOGIN_CREDENTIALS", call: "SignIn",
      firstAt: at, lastAt: at, keptUntil: at)
    world.store.edit { $0.failures[key] = record }
  }

  private func list(
    _ subject: AccountSubject = .email(ada), since: Int64? = nil, types: Set<String> = [], failuresOnly: Bool = false,
    rowsMax: Int = 50, token: String = ""
  ) async throws -> (minutes: [String], next: String?) {
    let page = try await ListEvents(world.environment)(
      ListEventsRequest(
        subject: subject, since: since.map { beginning.adding(millis: $0 * 60_000) }, types: types,
        failuresOnly: failuresOnly, rowsMax: rowsMax, pageToken: token))
    #expect(page.accountID == "account-y")
    let minutes = page.events.map { event in
      let minute = (event.at.millis - beginning.millis) / 60_000
      return if case .event = event { "\(minute)" } else { "f\(minute)" }
    }
    return (minutes, page.nextToken)
  }

  @Test func `events and failures are merged by time, newest first, by account and by address`() async throws {
    insertFailure(2)
    insertFailure(5, of: "", email: ada)
    insertFailure(9, of: "account-z")
    for subject in [AccountSubject.email(ada), .accountID("account-y")] {
      let (minutes, next) = try await list(subject)
      #expect(minutes == ["6", "f5", "5", "4", "3", "f2", "2", "1"] && next == nil)
    }
  }

  @Test(arguments: 1...9)
  func `pages of any size together are the whole list`(size: Int) async throws {
    insertFailure(2)
    insertFailure(5)
    insertFailure(7)
    var (minutes, token, pages) = ([String](), "", 0)
    repeat {
      let page = try await list(rowsMax: size, token: token)
      #expect(page.minutes.count <= size)
      minutes += page.minutes
      token = page.next ?? ""
      pages += 1
    } while !token.isEmpty && pages < 20
    #expect(minutes == ["f7", "6", "f5", "5", "4", "3", "f2", "2", "1"])
  }

  @Test func `types and times select, and failures can be left out or listed alone`() async throws {
    insertFailure(2)
    #expect(try await list(types: ["LINKED"]).minutes == ["4"])
    #expect(try await list(since: 4).minutes == ["6", "5", "4"])
    #expect(try await list(since: 2, failuresOnly: true).minutes == ["f2"])
    #expect(try await list(since: 3, failuresOnly: true).minutes == [])
  }

  @Test func `a search for rare types reads a bounded number of rows, and continues on the next page`() async throws {
    world.store.edit { tables in
      for number in 7...2_500 {
        var record = AuditRecord(
          id: "event-\(number)", at: beginning.adding(millis: 400_000), accountID: "account-y",
          event: "SIGNED_IN", caller: CallerName("shop"))
        record.position = Int64(number)
        tables.audit.append(record)
      }
    }
    var (found, token, pages) = ([String](), "", 0)
    repeat {
      let page = try await list(types: ["LINKED"], token: token)
      found += page.minutes
      token = page.next ?? ""
      pages += 1
    } while !token.isEmpty && pages < 9
    #expect(found == ["4"] && pages == 3)
  }

  @Test func `an unknown address and an id without a trace are errors, a removed account is not`() async throws {
    await refused(.accountNotFound) { try await list(.email("other@example.com")) }
    await refused(.accountNotFound) { try await list(.accountID("account-x")) }
    world.store.edit { tables in
      tables.accounts = [:]
      tables.closedAccounts["account-y"] = ClosedAccountRecord(id: "account-y", closedAt: beginning)
    }
    #expect(try await list(.accountID("account-y")).minutes.count == 6)
    await refused(.accountNotFound) { try await list() }
  }

  @Test(arguments: ["x", "AAAA", String(repeating: "A", count: 67)])
  func `a token of another kind is rejected`(token: String) async {
    let failure = await refused(.invalidField) { try await list(token: token) }
    #expect(failure?.field == "page_token")
  }
}
