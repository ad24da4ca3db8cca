internal import Crypto
internal import Reactor
internal import Store
internal import Synchronization
internal import Tokens

/// Keeps the ring of this replica as the store has it, and replaces keys when their time has come.
///
/// Calls never wait for it: they take the ring that is there. Two looks at once may leave the older ring until the next
/// look, which is long before it matters.
final class SigningKeyWatch: Sendable {
  private let store: any Store
  private let vault: Vault
  private let algorithm: SignatureAlgorithm
  private let policy: KeyPolicy
  private let log: Log
  private let known: Mutex<[SigningKeyRecord]>
  let desk: TokenDesk

  /// Looks for the first time: throws where there is no key to be had, or none that the master key opens.
  init(
    _ store: any Store, _ vault: Vault, algorithm: SignatureAlgorithm, _ policy: KeyPolicy, issuer: String,
    signers: [CustomTokenSigner] = [], log: Log
  ) async throws {
    self.store = store
    self.vault = vault
    self.algorithm = algorithm
    self.policy = policy
    self.log = log
    let records = try await SigningKeys.settle(store, vault, algorithm, .start, policy, log)
    known = Mutex(records)
    desk = TokenDesk(ring: try SigningKeys.ring(records, vault, policy, log), issuer: issuer, signers: signers)
  }

  /// Ends when it is cancelled.
  func start() -> Task<Void, Never> {
    Task.detached { [self] in
      while true {
        do { try await Task.sleep(nanoseconds: UInt64(policy.readMillis) * 1_000_000) } catch { return }
        await look(.look)
      }
    }
  }

  /// Where the store cannot answer the ring stays as it is, and the next look tries again.
  func look(_ occasion: KeyRotation.Occasion) async {
    do {
      let records = try await SigningKeys.settle(store, vault, algorithm, occasion, policy, log)
      guard known.withLock({ $0 != records }) else { return }
      desk.use(try SigningKeys.ring(records, vault, policy, log))
      known.withLock { $0 = records }
    } catch StoreError.closed {
      // The server ends.
    } catch {
      log.error("the signing keys cannot be read", ["why": "\(error)"])
    }
  }
}
