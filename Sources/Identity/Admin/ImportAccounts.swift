internal import Encodings
import Store

/// The key with which a former service hashed passwords.
package struct ImportKey: Hashable, Sendable {
  package var id: String
  package var bytes: [UInt8]

  package init(id: String, bytes: [UInt8]) {
    self.id = id
    self.bytes = bytes
  }
}

/// Imports accounts of another service, in batches. An invalid row does not affect other rows.
package struct ImportAccounts: Sendable {
  package static let rowsMax = 1_000
  /// Number of rows in one change: large enough to share the work, small enough for other changes to come between.
  static let rowsPerChangeMax = 50

  private let environment: Environment
  private let call: CallFacts

  package init(_ environment: Environment, _ call: CallFacts) {
    self.environment = environment
    self.call = call
  }

  /// Returns the name of a former service's key. It is the same for the same key, so that a later run recognises the
  /// hashes of an earlier one.
  package static func keyID(_ key: [UInt8], _ cryptography: any Cryptography) -> String {
    Base64URL.encode(Array(cryptography.keyedDigest(key, purpose: "import key").bytes.prefix(16)))
  }

  package static func context(ofKey id: String) -> [UInt8] { Array("import key \(id)".utf8) }

  /// Stores a key. Call it before importing the rows whose hashes name the key.
  package func keep(_ key: ImportKey) async throws {
    var query = Query()
    query.importKeyID = key.id
    try await environment.decideAndCommit(
      query, try await environment.load(query), call: call, commitDecision: CommitDecision()
    ) {
      facts, now -> Step<Void> in
      guard facts.importKey == nil else { return .answer(()) }
      let sealed = environment.cryptography.seal(key.bytes, context: ImportAccounts.context(ofKey: key.id))
      return .commit(
        Change([.record(.keepImportKey(ImportKeyRecord(id: key.id, sealedKey: sealed, createdAt: now)))]), ())
    }
  }

  /// Imports rows. Returns one verdict for each row, in order, once the imported accounts are durable.
  package func callAsFunction(_ rows: [ImportRow], dryRun: Bool) async throws -> [ImportVerdict] {
    var verdicts = [ImportVerdict?](repeating: nil, count: rows.count)
    var claims = ImportClaims()
    var ready: [(index: Int, state: AccountState)] = []
    for (index, row) in rows.enumerated() {
      if let failure = claims.claim(row) {
        verdicts[index] = .refused(failure)
        continue
      }
      switch try await decide(row) {
      case .insert(let state): ready.append((index, state))
      case .unchanged: verdicts[index] = .unchanged
      case .refuse(let failure): verdicts[index] = .refused(failure)
      }
      guard ready.count == ImportAccounts.rowsPerChangeMax else { continue }
      if !dryRun { try await insert(ready, rows, &verdicts) }
      ready = []
      // Other calls need this reactor, too.
      await Task.yield()
    }
    if !dryRun { try await insert(ready, rows, &verdicts) }
    return verdicts.map { $0 ?? .imported }
  }

  private func insert(
    _ ready: [(index: Int, state: AccountState)], _ rows: [ImportRow], _ verdicts: inout [ImportVerdict?]
  ) async throws {
    guard !ready.isEmpty, try await !commit(ready.map(\.state)) else { return }
    // One row lost a race. Each row is now imported separately, to find its own verdict.
    for (index, _) in ready { verdicts[index] = try await importAlone(rows[index]) }
  }

  private func importAlone(_ row: ImportRow) async throws -> ImportVerdict {
    for _ in 0..<environment.policy.decisionsMax {
      switch try await decide(row) {
      case .insert(let state): if try await commit([state]) { return .imported }
      case .unchanged: return .unchanged
      case .refuse(let failure): return .refused(failure)
      }
    }
    return .refused(Failure(.overloaded, hint: "Concurrent calls keep taking its identifiers. Try again."))
  }

  /// Commits the accounts. Returns false if another account has taken one of their identifiers.
  private func commit(_ states: [AccountState]) async throws -> Bool {
    // Each change of the call has its own commit decision. No change begins after the call was cancelled.
    guard !call.commitDecision.isCancelled else { throw Failure(.cancelled) }
    let now = environment.clock.now()
    let writes = states.flatMap { state in
      state.insertWrites + [
        environment.audit(AuditNote(.imported, accountID: state.account.id), call: call, now: now)
      ]
    }
    return try await environment.commit(Change(writes), CommitDecision())
  }

  private func decide(_ row: ImportRow) async throws -> ImportDecision.Outcome {
    let ids = environment.ids
    let decision = ImportDecision(
      row: row, now: environment.clock.now(), factorsMax: environment.policy.factorsMax, newID: ids.account(),
      newFactorID: { ids.factor() })
    return decision.decide(try await owners(of: row))
  }

  private func owners(of row: ImportRow) async throws -> ImportDecision.Owners {
    var query = Query()
    query.accountID = row.id
    query.email = row.email
    query.phoneNumber = row.phoneNumber
    query.identity = row.identities.first?.key
    let facts = try await environment.load(query)
    var owners = ImportDecision.Owners(
      account: facts.account, idIsClosed: facts.closedAccount != nil, emailOwner: facts.emailOwner,
      phoneOwner: facts.phoneOwner)
    if let key = query.identity { owners.identityOwners[key] = facts.identityOwner }
    for identity in row.identities.dropFirst() {
      var query = Query()
      query.identity = identity.key
      owners.identityOwners[identity.key] = try await environment.load(query).identityOwner
    }
    return owners
  }
}
