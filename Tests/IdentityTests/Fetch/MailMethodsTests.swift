import Store
import Testing

@testable import Identity

/// Section 7: below the tier that reveals the methods, they are emailed to the address instead.
@Suite struct `Methods by mail` {
  let world = World.sending()

  func fetch(_ handle: String, _ call: CallFacts? = nil, in world: World? = nil) async throws -> ProvidersAnswer {
    let world = world ?? self.world
    let call = call ?? world.call()
    let reading = try FetchByPendingToken(world.environment, handle, call)
    return try await MailMethods(world.environment)(reading, call)
  }

  func mails(in world: World? = nil) -> [OutgoingMessage] {
    let world = world ?? self.world
    return world.store.contents.deliveries.compactMap { world.environment.message(of: $0) }
  }

  @Test func `check 37: the methods behind an unverified assertion are mailed to the account's address, once`()
    async throws
  {
    world.store.insert(account(.verified(ada), password: true, identities: [google()]))
    let handle = world.hold(corp(tier: .unverified), for: "account-y")
    for _ in 0..<3 {
      let answer = try await fetch(handle)
      #expect(answer.methodsMailed && answer.methods.isEmpty && answer.providerIDs.isEmpty && answer.registered)
    }
    let message = try #require(mails().first)
    #expect(mails().count == 1 && message.kind == .signInMethods && message.recipient == .email(ada))
    #expect(message.values == ["methods": "password, google.com", "provider_id": "oidc.corp"])
    _ = try await fetch(world.hold(corp("c-2", tier: .unverified), for: "account-y"))
    #expect(mails().count == 2, "each handle once")
  }

  @Test func `no email is sent if the answer contains the methods`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let verified = try await fetch(world.hold(corp(tier: .verified), for: "account-y"))
    #expect(!verified.methodsMailed && verified.methods == ["password"])
    let handle = world.hold(corp("c-2", tier: .unverified), for: "account-y")
    let call = world.call(mayFetchByEmail: true)
    #expect(try await fetch(handle, call).methods == ["password"])
    #expect(mails().isEmpty)
    let applies = MailMethods(world.environment).mayApply(to: call)
    #expect(!applies && MailMethods(world.environment).mayApply(to: world.call()))
    #expect(!MailMethods(World().environment).mayApply(to: world.call()), "without a transport for email")
  }

  @Test func `no email is sent without a conflict, or for another address than the account's`() async throws {
    world.store.insert(account(.verified(ada), password: true))
    let inUse = world.hold(corp(tier: .unverified), for: "account-y", purpose: .credentialInUse)
    let other = world.hold(corp("c-2", email: "eve@example.com", tier: .unverified), for: "account-y")
    for handle in [inUse, other] { #expect(try await !fetch(handle).methodsMailed) }
    #expect(mails().isEmpty)
  }

  @Test func `past the limit of sends the answer is the same, without an email`() async throws {
    let world = World.sending { $0.throttles[.sendsPerRecipient].countMax = 1 }
    world.store.insert(account(.verified(ada), password: true))
    let handles = ["c-1", "c-2"].map { world.hold(corp($0, tier: .unverified), for: "account-y") }
    #expect(try await fetch(handles[0], in: world).methodsMailed)
    let second = try await fetch(handles[1], in: world)
    #expect(!second.methodsMailed && second.registered && second.pending != nil)
    #expect(mails(in: world).count == 1)
  }

  @Test func `thirty concurrent fetches of one pending token send one email`() async throws {
    let world = World.sending(store: MemoryStore(answersNow: false, meetsRaces: true))
    world.store.insert(account(.verified(ada), password: true))
    let handle = world.hold(corp(tier: .unverified), for: "account-y")
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<30 { group.addTask { _ = try? await fetch(handle, in: world) } }
    }
    #expect(mails(in: world).count == 1)
  }
}
