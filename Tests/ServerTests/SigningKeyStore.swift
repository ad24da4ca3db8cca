import Crypto
import Identity
import Logging
import Store
import Synchronization
import TestSupport
import Tokens

@testable import Configuration
@testable import Observability
@testable import Server

/// A store that has only signing keys.
final class SigningKeyStore: UncopiedStore {
  private let keys = Mutex<[SigningKeyRecord]>([])
  /// The types of the events, with their callers.
  private let written = Mutex<[AuditRecord]>([])
  let isDown = Atomic<Bool>(false)
  /// Another server's first key, which is there before ours is written.
  private let rival: SigningKeyRecord?

  init(_ records: [SigningKeyRecord] = [], rival: SigningKeyRecord? = nil) {
    self.rival = rival
    keys.withLock { $0 = records }
  }

  var records: [SigningKeyRecord] { keys.withLock { $0 } }
  var events: [AuditRecord] { written.withLock { $0 } }

  /// Changes the keys like a server with another master key: its own key replaces all others and signs from `at` on.
  func poison(_ record: SigningKeyRecord, at: Timestamp) {
    var record = record
    record.activeFrom = at
    keys.withLock { [record] keys in
      for index in keys.indices { keys[index].retiredAt = at }
      keys.append(record)
    }
  }

  func attachThread() throws {}
  func detachThread() {}
  func endTurn() {}
  func now(_ query: Query) throws -> Facts? { nil }
  func load(_ query: Query) async throws -> Facts {
    if isDown.load(ordering: .relaxed) { throw StoreError.unavailable("down") }
    var facts = Facts()
    if query.signingKeys { facts.signingKeys = records }
    return facts
  }
  func commit(_ change: Change, commitDecision: CommitDecision) async throws -> Outcome {
    keys.withLock { keys in
      if let rival, keys.isEmpty { keys = [rival] }
      // Carried out on a copy, because a change that is stale writes nothing.
      var changed = keys
      for write in change.writes {
        guard case .signingKey(let write) = write else { continue }
        guard SigningKeyStore.carryOut(write, &changed) else { return .stale }
      }
      keys = changed
      for case .record(.appendAudit(let row)) in change.writes { written.withLock { $0.append(row) } }
      return .committed
    }
  }

  private static func carryOut(_ write: SigningKeyWrite, _ keys: inout [SigningKeyRecord]) -> Bool {
    func index(_ keyID: String) -> Int? { keys.firstIndex { $0.keyID == keyID } }
    switch write {
    case .requireNone: return !keys.contains { $0.retiredAt == nil }
    case .retire(let keyID, let at):
      guard let index = index(keyID), keys[index].retiredAt == nil else { return false }
      keys[index].retiredAt = at
    case .insert(let record): keys.append(record)
    case .delete(let retiredBy): keys.removeAll { $0.retiredAt.map { $0 <= retiredBy } ?? false }
    case .confirm(let record): return keys.contains(record)
    case .reschedule(let keyID, let activeFrom, let retiredAt):
      guard let index = index(keyID) else { return false }
      (keys[index].activeFrom, keys[index].retiredAt) = (activeFrom, retiredAt)
    case .revoke(let keyID):
      guard let index = index(keyID) else { return false }
      keys.remove(at: index)
    }
    return true
  }

  func sweep(at now: Timestamp, rowsMax: Int, auditedBefore: Timestamp) async throws -> Int { 0 }
  func close() async {}
}

/// The keys of a server whose master key consists of this byte.
func derived(_ byte: UInt8 = 1) throws -> DerivedKeys {
  try DerivedKeys(masterKeys: [Secret(copying: [UInt8](repeating: byte, count: 32))])
}

func watch(
  _ store: SigningKeyStore, _ keys: DerivedKeys, _ algorithm: SignatureAlgorithm = .es256,
  _ policy: KeyPolicy = KeyPolicy(), isShared: Bool = true, log: Log = Log(JSONLines(level: .critical, descriptor: 2))
) async throws -> SigningKeyWatch {
  try await SigningKeyWatch(
    store, keys, algorithm: algorithm, policy, issuer: "https://auth.example",
    events: SigningKeyEvents(SystemRandomness()), isShared: isShared, log: log)
}

func load(
  _ store: SigningKeyStore, _ keys: DerivedKeys, _ algorithm: SignatureAlgorithm = .es256
) async throws -> KeyRing {
  _ = try await watch(store, keys, algorithm)
  return try SigningKeys.ring(store.records, keys, KeyPolicy())
}
