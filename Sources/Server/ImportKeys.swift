internal import Crypto
internal import Identity
internal import Store
internal import Synchronization

/// The keys of former services, which imported hashes name: each is loaded and opened once.
final class ImportKeys: Sendable {
  private let store: any Store
  private let vault: Vault
  private let opened = Mutex<[String: Secret]>([:])

  init(_ store: any Store, _ vault: Vault) {
    self.store = store
    self.vault = vault
  }

  /// nil: there is none, or it was sealed under another master key; no password matches then.
  func key(_ id: String) async throws -> Secret? {
    if let key = opened.withLock({ $0[id] }) { return key }
    var query = Query()
    query.importKeyID = id
    guard let record = try await load(query).importKey,
      let key = try? vault.openSecret(record.sealedKey, context: ImportAccounts.context(ofKey: id))
    else { return nil }
    opened.withLock { $0[id] = key }
    return key
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
