import Store
import Testing

@testable import Identity

/// The recipients of a notice about a new or removed sign-in method (check 84).
struct `Notices of links` {
  let world = World { $0.mailEnabled = true }

  private func told() -> [OutgoingMessage] { told(in: world) }

  private func told(in world: World) -> [OutgoingMessage] {
    world.store.contents.deliveries.compactMap { world.environment.message(of: $0) }
  }

  private func sessionOf(
    _ address: AddressState, password: Bool = true, identities: [Assertion] = []
  ) throws -> SessionGrant {
    world.store.insert(account(address, password: password, identities: identities))
    return try world.session(of: "account-y")
  }

  @Test func `check 84: the verified address is notified of a link and an unlink, with the provider`() async throws {
    let session = try sessionOf(.verified(ada))
    let linked = try await world.link(google(), session).grant
    _ = try await world.unlink("google.com", linked)
    let messages = told()
    #expect(messages.map(\.kind) == [.linked, .unlinked])
    for message in messages {
      #expect(message.recipient == .email(ada) && message.values == ["provider_id": "google.com"])
    }
  }

  @Test func `check 84: an address that is removed with its identity is notified`() async throws {
    let other = assertion("oidc.corp", "c-1", email: nil, tier: .unverified)
    world.store.insert(
      account(.verified(ada), password: false, identities: [google(), other]) {
        $0.emailAddress?.source = "google.com"
        $0.emailAddress?.verification = .assertion(providerID: "google.com")
      })
    _ = try await world.unlink("google.com", try world.session(of: "account-y"))
    #expect(world.store.state("account-y")?.account.email == nil)
    #expect(told().map(\.recipient) == [.email(ada)])
  }

  @Test func `check 84: a replaced or unlinked number is notified, and so is the verified address`()
    async throws
  {
    let world = World.sending()
    world.store.insert(account(.verified(ada), password: true, phone: "+15550199"))
    let session = try world.session(of: "account-y")
    let linked = try await world.link(world.phoneCode(for: .link, in: session), session).grant
    _ = try await world.unlink("phone", linked)
    let notices = told(in: world).filter { $0.kind != .phoneCode }
    // The waiting notice of the first unlink also covers the second one to the same address.
    #expect(notices.map(\.kind) == [.unlinked, .unlinked, .linked, .unlinked])
    let recipients: [OutgoingMessage.Recipient] = [
      .email(ada), .phoneNumber("+15550199"), .email(ada), .phoneNumber(number),
    ]
    #expect(notices.map(\.recipient) == recipients)
    #expect(notices.allSatisfy { $0.values == ["provider_id": "phone"] })
  }

  @Test func `without text messages a number is not notified`() async throws {
    world.store.insert(account(.verified(ada), password: true, phone: number))
    _ = try await world.unlink("phone", try world.session(of: "account-y"))
    #expect(told().map(\.recipient) == [.email(ada)])
  }

  @Test func `an unverified address is not notified, and a failed link sends no notice`() async throws
  {
    let session = try sessionOf(.unverified(ada))
    let other = assertion("oidc.corp", "c-1", email: nil, tier: .unverified)
    _ = try await world.link(other, session)
    await refused(.providerAlreadyLinked) {
      try await world.link(assertion("oidc.corp", "c-2", email: nil, tier: .unverified), session)
    }
    #expect(told().isEmpty)
  }

  @Test func `a change succeeds even if the queue is full for its notice`() async throws {
    let full = World {
      $0.mailEnabled = true
      $0.deliveryQueueMax = 0
    }
    full.store.insert(account(.verified(ada), password: true))
    let session = try full.session(of: "account-y")
    let linked = try await full.link(google(), session).grant
    #expect(told(in: full).map(\.kind) == [.linked])
    _ = try await full.unlink("google.com", linked)
    #expect(full.store.state("account-y")?.identities.isEmpty == true)
    #expect(told(in: full).map(\.kind) == [.linked])
  }
}
