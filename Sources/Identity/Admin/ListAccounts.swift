internal import Encodings
package import Store

/// A page of accounts, for an administrator.
package struct AccountPage: Hashable, Sendable {
  package var accounts: [AccountState]
  /// Token of the next page. nil: this is the last page.
  package var nextToken: String?
}

/// Pages of accounts in the order of their ids. Accounts that come and go between calls move no other account to
/// another page.
package struct ListAccounts: Reading {
  package static let accountsMax = 1_000
  package static let usualAccounts = 100
  /// Maximum `textBytes` of a page, which has at least one account.
  ///
  /// The limit leaves room for other answers in the bytes that a connection may leave unread.
  package static let pageBytesMax = 128 << 10
  /// Format of a page token.
  private static let version: UInt8 = 1

  private let afterID: String?
  private let accountsMax: Int
  private let pageBytesMax: Int

  /// - Parameter pageToken: from the previous page. Empty: the first page.
  /// - Parameter accountsMax: 1 to 1,000.
  package init(pageToken: String, accountsMax: Int) throws {
    self.init(afterID: pageToken.isEmpty ? nil : try ListAccounts.id(in: pageToken), accountsMax: accountsMax)
  }

  init(afterID: String?, accountsMax: Int, pageBytesMax: Int = pageBytesMax) {
    self.afterID = afterID
    self.accountsMax = accountsMax
    self.pageBytesMax = pageBytesMax
  }

  package var query: Query {
    var query = Query()
    // The query asks for one more account, to find out whether there is a next page.
    query.page = PageOrder(afterID: afterID, accountsMax: accountsMax + 1)
    return query
  }

  package func answer(_ facts: Facts) -> AccountPage {
    var (accounts, byteCount) = ([AccountState](), 0)
    for state in facts.page.prefix(accountsMax) {
      byteCount += state.textBytes
      guard accounts.isEmpty || byteCount <= pageBytesMax else { break }
      accounts.append(state)
    }
    let isLast = accounts.count == facts.page.count
    return AccountPage(accounts: accounts, nextToken: isLast ? nil : accounts.last.map(ListAccounts.token))
  }

  /// Returns a page token. It contains nothing that the previous page did not show.
  private static func token(after state: AccountState) -> String {
    Base64URL.encode([version] + Array(state.account.id.utf8))
  }

  private static func id(in token: String) throws -> String {
    guard let bytes = Base64URL.decode(token), bytes.first == version,
      case let id = String(decoding: bytes.dropFirst(), as: UTF8.self), Ids.isAccountID(id)
    else { throw Failure(.invalidField, field: "page_token", hint: "Use `next_page_token` of the previous page.") }
    return id
  }
}

extension AccountState {
  /// Approximate size of the account in an answer, in bytes.
  package var textBytes: Int {
    let own = [
      account.id, account.email ?? "", account.displayName, account.photoURL, account.customClaimsJSON,
      account.phoneNumber ?? "", account.passwordHash ?? "",
    ]
    let linked = identities.flatMap { identity in
      [identity.key.providerID, identity.key.subject, identity.email ?? "", identity.displayName, identity.photoURL]
    }
    let enrolled = factors.flatMap { [$0.id, $0.displayName] }
    return (own + linked + enrolled).reduce(0) { $0 + $1.utf8.count }
  }
}
