internal import Encodings
package import Store

/// Some of all accounts, for an administrator.
package struct AccountPage: Hashable, Sendable {
  package var accounts: [AccountState]
  /// Goes on behind the last of them; nil: there is no more.
  package var nextToken: String?
}

/// Pages follow each other in the order of ids: accounts that come and go meanwhile move no other to another page.
package struct ListAccounts: Reading {
  package static let accountsMax = 1_000
  package static let usualAccounts = 100
  /// A page ends before it comes to more than this, as its texts count, with one account at least: it has to leave room
  /// for other answers in what a connection may leave untaken.
  package static let pageBytesMax = 128 << 10
  /// Of the form of a page token.
  private static let version: UInt8 = 1

  private let afterID: String?
  private let accountsMax: Int
  private let pageBytesMax: Int

  /// - Parameter pageToken: of the page before; empty: the first page.
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
    // One more than asked: whether it is there says whether there is a next page.
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

  /// It holds nothing that the page before did not say.
  private static func token(after state: AccountState) -> String {
    Base64URL.encode([version] + Array(state.account.id.utf8))
  }

  private static func id(in token: String) throws -> String {
    guard let bytes = Base64URL.decode(token), bytes.first == version,
      case let id = String(decoding: bytes.dropFirst(), as: UTF8.self), Ids.isAccountID(id)
    else { throw Failure(.invalidField, field: "page_token", hint: "It is not the token of a page.") }
    return id
  }
}

extension AccountState {
  /// What its texts take, roughly: how much of an answer it is.
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
