import Crypto
import Reactor
import Testing
import Tokens

@testable import Server

private let now: Int64 = 1_800_000_000

private func newRing(_ kind: KeyKind = .p256, _ algorithm: SignatureAlgorithm = .es256) throws -> KeyRing {
  let key = try SigningKey(.generate(kind), algorithm: algorithm, publishedAt: 0, activeFrom: 0, retiredAt: nil)
  return KeyRing([key], tokenLifetimeSecondsMax: 3_600)
}

/// A reactor on a thread of its own that signs at the end of each turn.
private final class SigningReactor: Sendable {
  enum Letter: Sendable {
    /// Begins within one turn, so that all of them run in the next.
    case begin(@Sendable () -> Void)
    case stop
  }

  private final class Driver: ReactorDriver {
    let reactor: Reactor<Driver>
    let signer: TurnSigner
    let rounds: AsyncStream<Void>.Continuation

    init(_ mailbox: Mailbox<Letter>, _ signer: TurnSigner, _ rounds: AsyncStream<Void>.Continuation) throws {
      reactor = try Reactor(mailbox: mailbox)
      self.signer = signer
      self.rounds = rounds
    }

    func ready(_ ticket: Ticket, readable: Bool, writable: Bool) {}
    func timerFired(_ ticket: Ticket, kind: UInt32) {}
    func received(_ letter: Letter) {
      switch letter {
      case .begin(let body): body()
      case .stop: reactor.stop()
      }
    }
    func decide() {}
    func gathered() -> Bool {
      let isWaiting = signer.isWaiting
      if isWaiting { rounds.yield() }
      #expect(signer.signAll() == isWaiting && !signer.isWaiting)
      return isWaiting
    }
    func endTurn() {}
    var hasLeftovers: Bool { signer.isWaiting }
  }

  let mailbox: Mailbox<Letter>
  let signer: TurnSigner
  /// One element for each time that anything was signed; ends with the reactor.
  let rounds: AsyncStream<Void>

  init() throws {
    let rounds = AsyncStream.makeStream(of: Void.self)
    (mailbox, signer, self.rounds) = (try Mailbox(), try TurnSigner(), rounds.stream)
    startThread(named: "test-signer") { [mailbox, signer] in
      guard let driver = try? Driver(mailbox, signer, rounds.continuation) else { return }
      signer.attachThread()
      driver.reactor.run(driver)
      signer.detachThread()
      rounds.continuation.finish()
    }
  }

  /// The tokens, each signed so many times by tasks that all begin in one turn, and in how many rounds it was done.
  func sign(_ tokens: [UnsignedToken], times: Int = 1) async throws -> (signed: [String], rounds: Int) {
    let tasks = await withCheckedContinuation { answer in
      mailbox.post(
        .begin { [mailbox, signer] in
          answer.resume(
            returning: tokens.map { token in
              Task(executorPreference: mailbox) {
                for _ in 1..<times { _ = try await signer.sign(token) }
                return try await signer.sign(token)
              }
            })
        })
    }
    var signed: [String] = []
    for task in tasks { signed.append(try await task.value) }
    mailbox.post(.stop)
    return (signed, await rounds.reduce(0) { count, _ in count + 1 })
  }
}

private func unsigned(_ ring: KeyRing, _ count: Int) throws -> [UnsignedToken] {
  try (0..<count).map { try ring.unsigned(Array("{\"sub\":\"\($0)\"}".utf8), .idToken, at: now) }
}

private func subjects(_ tokens: [String], _ ring: KeyRing) throws -> [String?] {
  try tokens.map { try ring.verify($0, .idToken, at: now)["sub"]?.string }
}

@Test(arguments: [1, 2, 5, 100])
func `what the tasks of one turn want signed is signed together, and each gets its own`(count: Int) async throws {
  let ring = try newRing()
  let (signed, rounds) = try await SigningReactor().sign(unsigned(ring, count))
  #expect(try subjects(signed, ring) == (0..<count).map { "\($0)" })
  #expect(rounds == 1)
}

@Test func `what a task wants signed that only goes on by a signature is signed without anything to wake the reactor`()
  async throws
{
  let ring = try newRing()
  let (signed, rounds) = try await SigningReactor().sign(unsigned(ring, 5), times: 3)
  #expect(try subjects(signed, ring) == (0..<5).map { "\($0)" })
  #expect(rounds == 3)
}

@Test func `a key that gains nothing by company signs at once`() async throws {
  let ring = try newRing(.ed25519, .edDSA)
  let (signed, rounds) = try await SigningReactor().sign(unsigned(ring, 3))
  #expect(try subjects(signed, ring) == ["0", "1", "2"])
  #expect(rounds == 0)
}

@Test func `on a thread that is not attached a token is signed at once`() async throws {
  let (ring, signer) = (try newRing(), try TurnSigner())
  let signed = try await signer.sign(unsigned(ring, 1)[0])
  #expect(try subjects([signed], ring) == ["0"])
  #expect(!signer.isWaiting && !signer.signAll())
}
