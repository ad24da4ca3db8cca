import Store

/// Every account, a page at a time.
package struct ExportAccounts: Sendable {
  /// Pages leave one by one, each in a message of its own.
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

  /// That somebody takes all password hashes along is remembered before the first of them leaves.
  /// - Parameter id: of the last account of the page before; nil: the first page.
  package func page(after id: String?) async throws -> AccountPage {
    if id == nil, includesSecrets {
      let note = AuditNote(.exported, accountID: "")
      let write = environment.audit(note, call: call, now: environment.clock.now())
      _ = try await environment.commit(Change([write]), Fate())
    }
    return try await environment.read(
      ListAccounts(
        afterID: id, accountsMax: ExportAccounts.accountsPerPage, pageBytesMax: ExportAccounts.pageBytesMax))
  }
}
