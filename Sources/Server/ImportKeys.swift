internal import Crypto
internal import Identity
internal import Observability
internal import Store
internal import Synchronization

/// Hash keys of former services, which imported password hashes reference. Each key is loaded and decrypted once.
final class ImportKeys: Sendable {
  private let store: any Store
  private let keys: DerivedKeys
  private let log: Log
  private let opened = Mutex<[String: Secret]>([:])
  /// IDs of unusable keys, which are already logged.
  private let unusable = Mutex<Set<String>>([])

  init(_ store: any Store, _ keys: DerivedKeys, _ log: Log) {
    self.store = store
    self.keys = keys
    self.log = log
  }

  /// Returns the key, or `nil` if it does not exist or is sealed with another master key. Then no password of these
  /// users matches, and the failures do not count against them.
  func key(_ id: String) async throws -> Secret? {
    if let key = opened.withLock({ $0[id] }) { return key }
    var query = Query()
    query.importKeyID = id
    guard let record = try await load(query).importKey else { return leaveOut(id, "the key does not exist") }
    guard let key = try? keys.openSecret(record.sealedKey, context: ImportAccounts.context(ofKey: id)) else {
      return leaveOut(id, "the key is sealed under master key \(MasterKeyID(bytes: record.sealedKey))")
    }
    opened.withLock { $0[id] = key }
    return key
  }

  private func leaveOut(_ id: String, _ why: String) -> Secret? {
    if unusable.withLock({ $0.insert(id).inserted }) {
      log.error("cannot verify passwords that were imported with this key", ["key": id, "why": why])
    }
    return nil
  }

  private func load(_ query: Query) async throws -> Facts {
    do {
      if let facts = try store.now(query) { return facts }
      return try await store.load(query)
    } catch let error as StoreError {
      throw Failure(storeError: error)
    }
  }
}
