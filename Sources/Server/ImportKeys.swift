internal import Crypto
internal import Identity
internal import Store
internal import Synchronization

/// The keys of former services, which imported hashes name: each is loaded and opened once.
final class ImportKeys: Sendable {
  private let store: any Store
  private let vault: Vault
  private let log: Log
  private let opened = Mutex<[String: Secret]>([:])
  /// Those that cannot be used, which was told once.
  private let unusable = Mutex<Set<String>>([])

  init(_ store: any Store, _ vault: Vault, _ log: Log) {
    self.store = store
    self.vault = vault
    self.log = log
  }

  /// nil: there is none, or it was sealed under another master key; no password matches then, and its people are not to
  /// blame.
  func key(_ id: String) async throws -> Secret? {
    if let key = opened.withLock({ $0[id] }) { return key }
    var query = Query()
    query.importKeyID = id
    guard let record = try await load(query).importKey else { return leaveOut(id, "it is not there") }
    guard let key = try? vault.openSecret(record.sealedKey, context: ImportAccounts.context(ofKey: id)) else {
      return leaveOut(id, "it was sealed under another master key")
    }
    opened.withLock { $0[id] = key }
    return key
  }

  private func leaveOut(_ id: String, _ why: String) -> Secret? {
    if unusable.withLock({ $0.insert(id).inserted }) {
      log.error("passwords that were imported under a key cannot be checked", ["key": id, "why": why])
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
