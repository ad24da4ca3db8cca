internal import Configuration
internal import Crypto
internal import Observability
internal import Reactor
internal import Store
internal import Synchronization
internal import Tokens

/// Synchronisation of this replica's key ring with the store, and rotation of keys.
///
/// Calls never wait for it: they use the current ring. Two concurrent checks may leave the older ring until the next
/// check, which is early enough.
final class SigningKeyWatch: Sendable {
  private let store: any Store
  private let keys: DerivedKeys
  private let algorithm: SignatureAlgorithm
  private let policy: KeyPolicy
  private let log: Log
  private let known: Mutex<[SigningKeyRecord]>
  let tokens: TokenIssuer

  /// Loads the keys. Throws if there is no key that the master key can open.
  init(
    _ store: any Store, _ keys: DerivedKeys, algorithm: SignatureAlgorithm, _ policy: KeyPolicy, issuer: String,
    signers: [CustomTokenSigner] = [], log: Log
  ) async throws {
    self.store = store
    self.keys = keys
    self.algorithm = algorithm
    self.policy = policy
    self.log = log
    let records = try await SigningKeys.settle(store, keys, algorithm, .start, policy, log)
    known = Mutex(records)
    tokens = TokenIssuer(ring: try SigningKeys.ring(records, keys, policy, log), issuer: issuer, signers: signers)
  }

  /// Starts periodic checks; cancel the task to end them.
  func start() -> Task<Void, Never> {
    Task.detached { [self] in
      while true {
        do { try await Task.sleep(nanoseconds: UInt64(policy.readMillis) * 1_000_000) } catch { return }
        await look(.look)
      }
    }
  }

  /// Reads the keys and rotates them if due. If the store is unavailable, the ring stays unchanged until the next
  /// check.
  func look(_ occasion: KeyRotation.Occasion) async {
    do {
      let records = try await SigningKeys.settle(store, keys, algorithm, occasion, policy, log)
      guard known.withLock({ $0 != records }) else { return }
      tokens.use(try SigningKeys.ring(records, keys, policy, log))
      known.withLock { $0 = records }
    } catch StoreError.closed {
      // The server is stopping.
    } catch {
      log.error("the signing keys cannot be read", ["why": "\(error)"])
    }
  }
}
