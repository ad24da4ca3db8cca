import Store
import Testing

@testable import Identity

@Suite struct MessageTests {
  private let now = Timestamp(millis: 1_700_000_000_000)

  @Test func `a message reads back from its own delivery, and not with another's seal`() throws {
    let world = World()
    let later = now.adding(millis: 1)
    for message in [
      OutgoingMessage(
        .linked, to: .email("ann@example.com"), values: ["provider_id": "ü {{link}}"], expiresAt: later),
      OutgoingMessage(.phoneCode, to: .phoneNumber("+4915112345678"), locale: "de-AT", expiresAt: later),
    ] {
      guard case .delivery(.enqueue(var record, _)) = world.environment.enqueue(message, for: "", now: now) else {
        Issue.record("no delivery")
        return
      }
      #expect(world.environment.message(of: record) == message)
      record.id += "x"
      #expect(world.environment.message(of: record) == nil)
    }
  }

  @Test func `a notice goes once to the verified address and to each other recipient, and is not sent without mail`() {
    var policy = Policy()
    var account = AccountRecord(id: "ann", createdAt: now)
    account.emailAddress = EmailAddress("ann@example.com")
    func recipients(_ others: [String] = []) -> [OutgoingMessage.Recipient] {
      let environment = World(policy: { $0 = policy }).environment
      return environment.notices(.linked, to: AccountState(account: account), others: others, now: now).compactMap {
        guard case .delivery(.enqueueNotice(let record, _)) = $0 else { return nil }
        return environment.message(of: record)?.recipient
      }
    }
    account.emailAddress?.verification = .confirmation
    #expect(recipients() == [])
    policy.mailEnabled = true
    #expect(recipients() == [.email("ann@example.com")])
    #expect(recipients(["old@example.com"]) == [.email("old@example.com"), .email("ann@example.com")])
    #expect(recipients(["ann@example.com"]) == [.email("ann@example.com")])
    account.emailAddress?.verification = nil
    #expect(recipients() == [])
  }

  @Test func `notices with the same account, kind, recipient and values are merged, and counted by kind`() {
    let environment = World(policy: { $0.mailEnabled = true }).environment
    func notice(
      _ kind: OutgoingMessage.Kind = .linked, _ id: String = "ann", to email: String = "ann@example.com",
      values: [String: String] = ["provider_id": "a"], afterMillis: Int64 = 0
    ) -> (record: DeliveryRecord, limits: NoticeLimits)? {
      let state = AccountState(account: AccountRecord(id: id, createdAt: now))
      let writes = environment.notices(
        kind, to: state, others: [email], values: values, now: now.adding(millis: afterMillis))
      guard case .delivery(.enqueueNotice(let record, let limits))? = writes.first else { return nil }
      return (record, limits)
    }
    let first = notice()
    #expect(first?.record.priority == .notice && first?.record.mergeKey != nil)
    #expect(notice(afterMillis: 5_000)?.record.mergeKey == first?.record.mergeKey)
    for other in [
      notice(.unlinked), notice(.linked, "bob"), notice(to: "bob@example.com"), notice(values: ["provider_id": "b"]),
    ] { #expect(other?.record.mergeKey != nil && other?.record.mergeKey != first?.record.mergeKey) }
    #expect(notice(values: ["provider_id": "b"])?.limits.count.key == first?.limits.count.key)
    #expect(notice(.unlinked)?.limits.count.key != first?.limits.count.key)
    #expect(notice(.linked, "bob")?.limits.count.key != first?.limits.count.key)
    #expect(first?.limits.queueMax == 75_000 && first?.limits.count.rule.countMax == 20)
  }
}
