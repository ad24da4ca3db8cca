package import Store

/// Whether an identity may get a transfer identifier (SEMANTICS.md, section 18, rows X1 to X4).
package enum TransferDecision: Hashable, Sendable {
  case refuse(Failure)
  case unchanged
  case change(IdentityRecord, version: Int64)

  /// - Parameters:
  ///   - owner: the account with the identity.
  ///   - other: the account that has the transfer identifier.
  package static func decide(
    _ transferSubject: String, of key: IdentityKey, owner: AccountState?, other: AccountState?
  ) -> TransferDecision {
    guard let owner, var identity = owner.identities.first(where: { $0.key == key }) else {
      return .refuse(Failure(.accountNotFound, field: "rows.subject", hint: "No account has this identity."))
    }
    if identity.transferSubject == transferSubject { return .unchanged }
    if let other {
      return .refuse(
        Failure(
          .providerAlreadyLinked, field: "rows.transfer_subject",
          hint: "Another identity has this transfer identifier.", metadata: ["account_id": other.account.id]))
    }
    identity.transferSubject = transferSubject
    return .change(identity, version: owner.account.version)
  }
}

/// Stores by what Apple will identify users after their application moved to another team.
package struct SetTransferSubjects: Sendable {
  package struct Row: Hashable, Sendable {
    package var subject: String
    package var transferSubject: String

    package init(subject: String, transferSubject: String) {
      self.subject = subject
      self.transferSubject = transferSubject
    }
  }

  package static let rowsMax = 1_000
  /// The only provider whose ID tokens name the user of a former team.
  static let providerID = "apple.com"
  /// Number of rows after which other calls of the reactor come between.
  private static let rowsInARow = 50

  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// Returns one verdict for each row, in order, once the changes are durable.
  package func callAsFunction(_ rows: [Row], _ call: CallFacts) async throws -> [AccountBatch.Verdict] {
    var verdicts: [AccountBatch.Verdict] = []
    for row in rows {
      // Each row has its own commit decision. No change begins after the call was cancelled.
      guard !call.commitDecision.isCancelled else { throw Failure(.cancelled) }
      verdicts.append(try await set(row, call))
      if verdicts.count.isMultiple(of: SetTransferSubjects.rowsInARow) { await Task.yield() }
    }
    return verdicts
  }

  private func set(_ row: Row, _ call: CallFacts) async throws -> AccountBatch.Verdict {
    let key = IdentityKey(providerID: SetTransferSubjects.providerID, subject: row.subject)
    var query = Query()
    query.identity = key
    query.transfer = IdentityKey(providerID: SetTransferSubjects.providerID, subject: row.transferSubject)
    let facts = try await environment.first(query)
    return try await environment.decideAndCommit(query, facts, call: call, commitDecision: CommitDecision()) {
      facts, now in
      let decision = TransferDecision.decide(
        row.transferSubject, of: key, owner: facts.identityOwner, other: facts.transferOwner)
      switch decision {
      case .refuse(let failure): return .answer(.refused(failure))
      case .unchanged: return .answer(.unchanged)
      case .change(let identity, let version):
        // The version guards the identity against a sign-in that refreshes its profile.
        let note = AuditNote(
          .transferSubjectSet, accountID: identity.accountID, details: ["provider_id": key.providerID])
        return .commit(
          Change([
            .account(.raise(id: identity.accountID, version: version)), .identity(.update(identity)),
            environment.audit(note, call: call, now: now),
          ]), .done)
      }
    }
  }
}
