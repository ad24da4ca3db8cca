internal import Encodings
package import Store

package struct SearchAccountsRequest: Hashable, Sendable {
  package var text: String
  package var filter: SearchFilter
  package var pageToken: String
  package var accountsMax: Int

  package init(text: String, filter: SearchFilter = SearchFilter(), pageToken: String = "", accountsMax: Int) {
    self.text = text
    self.filter = filter
    self.pageToken = pageToken
    self.accountsMax = accountsMax
  }
}

/// A page of accounts that an administrator searches for.
package struct FoundAccounts: Hashable, Sendable {
  package var accounts: [AccountState]
  /// nil: this is the last page.
  package var nextToken: String?
  package var match: MatchKind
}

/// Finds accounts by a part of their texts.
package struct SearchAccounts: Sendable {
  package static let accountsMax = 100
  package static let usualAccounts = 20
  /// A trigram index finds nothing shorter.
  package static let charactersMin = 3
  package static let textBytesMax = 254
  /// Format of a page token.
  private static let version: UInt8 = 2

  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ request: SearchAccountsRequest) async throws -> FoundAccounts {
    let query = SearchQuery(
      text: try SearchAccounts.text(request.text), filter: request.filter,
      after: try SearchAccounts.position(in: request.pageToken), accountsMax: request.accountsMax)
    let result: SearchResult
    do {
      result = try await environment.store.search(query)
    } catch let error as StoreError {
      throw Failure(storeError: error)
    }
    switch result {
    case .page(let page):
      return FoundAccounts(
        accounts: page.accounts, nextToken: page.next.map(SearchAccounts.token), match: page.match)
    case .building(let progress):
      throw Failure(
        .searchNotReady, hint: "The server is building the index. Try again later.",
        metadata: ["indexed": "\(progress.indexed)", "accounts": "\(progress.accounts)"], retryAfterMillis: 30_000)
    case .disabled:
      throw Failure(.operationNotAllowed, hint: "Set `store.search` in the server's configuration.")
    }
  }

  /// Returns the text as the index has it: in lower case, without what no field contains.
  static func text(_ text: String) throws(Failure) -> String {
    let text = ShownText.withoutControls(text).lowercased()
    guard text.isEmpty || text.unicodeScalars.count >= charactersMin else {
      throw Failure(
        .invalidField, field: "query",
        hint: "Send at least \(charactersMin) characters, or none to use the filters only.")
    }
    return text
  }

  private static func token(_ position: String) -> String { Base64URL.encode([version] + Array(position.utf8)) }

  private static func position(in token: String) throws(Failure) -> String {
    guard !token.isEmpty else { return "" }
    guard let bytes = Base64URL.decode(token), bytes.first == version,
      case let position = String(decoding: bytes.dropFirst(), as: UTF8.self), Ids.isAccountID(position)
    else {
      throw Failure(.invalidField, field: "page_token", hint: "Use `next_page_token` of the previous page.")
    }
    return position
  }
}
