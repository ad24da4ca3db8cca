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
  static let rowsPerChangeMax = 200
  /// Number of rows that are looked up at the same time.
  private static let lookUpsMax = 16

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
    var distinct: [Int] = []
    for (index, row) in rows.enumerated() {
      if let failure = claims.claim(row) { verdicts[index] = .refused(failure) } else { distinct.append(index) }
    }
    // Most imports add accounts to a store that has none of them. Looking each up first would take most of the time.
    var assumesNew = !dryRun
    for start in stride(from: 0, to: distinct.count, by: ImportAccounts.rowsPerChangeMax) {
      let portion = distinct[start..<min(start + ImportAccounts.rowsPerChangeMax, distinct.count)]
      if assumesNew {
        assumesNew = try await insertAsNew(portion, rows, &verdicts)
        if assumesNew { continue }
      }
      var ready: [(index: Int, state: AccountState)] = []
      for (index, outcome) in try await lookUp(portion, rows) {
        if let state = note(outcome, index, &verdicts) { ready.append((index, state)) }
      }
      if !dryRun { try await insert(ready, rows, &verdicts) }
      // Other calls need this reactor, too.
      await Task.yield()
    }
    return verdicts.map { $0 ?? .imported }
  }

  /// Keeps the verdict of a row that is not inserted. Returns the account otherwise.
  private func note(
    _ outcome: ImportDecision.Outcome, _ index: Int, _ verdicts: inout [ImportVerdict?]
  ) -> AccountState? {
    switch outcome {
    case .insert(let state): return state
    case .unchanged: verdicts[index] = .unchanged
    case .refuse(let failure): verdicts[index] = .refused(failure)
    }
    return nil
  }

  /// Inserts rows without looking them up; the unique keys of the store decide. Returns false if an account already has
  /// an identifier of one of them: then nothing was written.
  private func insertAsNew(
    _ portion: ArraySlice<Int>, _ rows: [ImportRow], _ verdicts: inout [ImportVerdict?]
  ) async throws -> Bool {
    var states: [AccountState] = []
    for index in portion {
      if let state = note(decision(rows[index]).decide(ImportDecision.Owners()), index, &verdicts) {
        states.append(state)
      }
    }
    guard !states.isEmpty else { return true }
    return try await commit(states)
  }

  /// Returns the decision on each row, in order.
  private func lookUp(
    _ portion: ArraySlice<Int>, _ rows: [ImportRow]
  ) async throws -> [(index: Int, outcome: ImportDecision.Outcome)] {
    try await withThrowingTaskGroup(of: (index: Int, outcome: ImportDecision.Outcome).self) { group in
      var found: [(index: Int, outcome: ImportDecision.Outcome)] = []
      for (number, index) in portion.enumerated() {
        if number >= ImportAccounts.lookUpsMax, let one = try await group.next() { found.append(one) }
        group.addTask { (index, try await decide(rows[index])) }
      }
      for try await one in group { found.append(one) }
      return found.sorted { $0.index < $1.index }
    }
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
    decision(row).decide(try await owners(of: row))
  }

  private func decision(_ row: ImportRow) -> ImportDecision {
    let ids = environment.ids
    return ImportDecision(
      row: row, now: environment.clock.now(), factorsMax: environment.policy.factorsMax,
      identitiesPerProviderMax: environment.policy.identitiesPerProviderMax, newID: ids.account(),
      newFactorID: { ids.factor() }, seal: environment.sealPasskey)
  }

  private func owners(of row: ImportRow) async throws -> ImportDecision.Owners {
    var query = Query()
    query.accountID = row.id
    query.email = row.email
    query.phoneNumber = row.phoneNumber
    query.identity = row.identities.first?.key
    let facts = try await environment.load(query)
    var owners = ImportDecision.Owners(
      account: facts.account, closed: facts.closedAccount, emailOwner: facts.emailOwner,
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
