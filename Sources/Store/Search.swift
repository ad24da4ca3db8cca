// Search of accounts by part of a text. It has its own method, because its index may be missing or incomplete, and its
// cost depends on what is sought.

/// One page of a search.
package struct SearchQuery: Hashable, Sendable {
  /// In lower case. Empty: every account.
  package var text: String
  package var filter: SearchFilter
  /// `SearchPage.next` of the previous page; empty: the first page.
  package var after: String
  package var accountsMax: Int
  /// The largest number of accounts to examine, so that no filter makes a search slow.
  package var examinedMax: Int

  package init(
    text: String, filter: SearchFilter = SearchFilter(), after: String = "", accountsMax: Int, examinedMax: Int = 2_000
  ) {
    self.text = text
    self.filter = filter
    self.after = after
    self.accountsMax = accountsMax
    self.examinedMax = examinedMax
  }
}

/// Conditions that an account must all meet.
package struct SearchFilter: Hashable, Sendable {
  package var disabled = false
  /// Only accounts without a verified email address.
  package var unverified = false
  /// A provider of an identity, or one of the service's own methods.
  package var providerID: String?
  package var createdFrom: Timestamp?
  package var createdBefore: Timestamp?
  package var lastSignInFrom: Timestamp?
  /// An account without a sign-in meets this condition.
  package var lastSignInBefore: Timestamp?

  package init() {}
}

package struct SearchPage: Hashable, Sendable {
  package var accounts: [AccountState]
  /// Where the next page begins. nil: this is the last page.
  package var next: String?
  package var match: MatchKind

  package init(accounts: [AccountState], next: String?, match: MatchKind) {
    self.accounts = accounts
    self.next = next
    self.match = match
  }
}

/// What the index can compare.
package enum MatchKind: Hashable, Sendable, CaseIterable {
  /// A part of a field.
  case part
  /// The beginning of a field.
  case beginning
}

package enum SearchResult: Hashable, Sendable {
  case page(SearchPage)
  /// The index is being built.
  case building(SearchProgress)
  /// The store keeps no index.
  case disabled
}

/// How far the index is built.
package struct SearchProgress: Hashable, Sendable {
  /// The numbers of accounts in the index and in all, approximately. Both are 0 if the database does not state them.
  package var indexed: Int
  package var accounts: Int

  package init(indexed: Int = 0, accounts: Int = 0) {
    self.indexed = indexed
    self.accounts = accounts
  }
}
