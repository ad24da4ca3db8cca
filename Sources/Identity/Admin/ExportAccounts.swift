package import Store

/// Export of all accounts, page by page.
package struct ExportAccounts: Sendable {
  /// Limits of a page. Each page is sent in a message of its own.
  private static let accountsPerPage = 100
  private static let pageBytesMax = 65_536

  private let environment: Environment
  private let call: CallFacts
  package let includesSecrets: Bool

  package init(_ environment: Environment, _ call: CallFacts, includesSecrets: Bool) {
    self.environment = environment
    self.call = call
    self.includesSecrets = includesSecrets
  }

  /// Returns the passkey of a factor in the form that an import takes; nil: the factor is of another kind.
  package func passkeyRecord(of factor: FactorRecord) -> [UInt8]? {
    guard factor.kind == .passkey, case .passkey(let passkey) = environment.secret(of: factor) else { return nil }
    return passkey.packed
  }

  /// Returns a page. With secrets, writes the audit row before the first password hash leaves the server.
  /// - Parameter id: of the last account of the previous page. nil: the first page.
  package func page(after id: String?) async throws -> AccountPage {
    if id == nil, includesSecrets {
      let note = AuditNote(.exported, accountID: "")
      let write = environment.audit(note, call: call, now: environment.clock.now())
      _ = try await environment.commit(Change([write]), CommitDecision())
    }
    return try await environment.read(
      ListAccounts(
        afterID: id, accountsMax: ExportAccounts.accountsPerPage, pageBytesMax: ExportAccounts.pageBytesMax))
  }
}
