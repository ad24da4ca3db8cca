import Store
import Testing

@testable import Identity

@Suite struct MessageTests {
  private let now = Timestamp(millis: 1_700_000_000_000)

  @Test func `a message reads back from its delivery, and from no other's seal`() throws {
    let world = World()
    let later = now.adding(millis: 1)
    for message in [
      OutgoingMessage(
        .linked, to: .email("ann@example.com"), values: ["provider_id": "ü {{link}}"], expiresAt: later),
      OutgoingMessage(.phoneCode, to: .phoneNumber("+4915112345678"), locale: "de-AT", expiresAt: later),
    ] {
      guard case .enqueueDelivery(var record, _) = world.environment.enqueue(message, now: now) else {
        Issue.record("no delivery")
        return
      }
      #expect(world.environment.message(of: record) == message)
      record.id += "x"
      #expect(world.environment.message(of: record) == nil)
    }
  }

  @Test func `a notice goes to the proved address and to the others, each once, and nowhere without mail`() {
    var policy = Policy()
    var account = AccountRecord(id: "ann", createdAt: now)
    account.email = "ann@example.com"
    func recipients(_ others: [String] = []) -> [OutgoingMessage.Recipient] {
      let environment = World(policy: { $0 = policy }).environment
      return environment.notices(.linked, to: AccountState(account: account), others: others, now: now).compactMap {
        guard case .enqueueDelivery(let record, _) = $0 else { return nil }
        return environment.message(of: record)?.recipient
      }
    }
    account.emailProof = .confirmation
    #expect(recipients() == [])
    policy.mailEnabled = true
    #expect(recipients() == [.email("ann@example.com")])
    #expect(recipients(["old@example.com"]) == [.email("old@example.com"), .email("ann@example.com")])
    #expect(recipients(["ann@example.com"]) == [.email("ann@example.com")])
    account.emailProof = nil
    #expect(recipients() == [])
  }
}
