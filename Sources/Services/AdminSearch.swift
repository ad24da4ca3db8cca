internal import API
internal import Identity
internal import Store

extension AdminService {
  var search: Method {
    .unary(AdminRPC.search, isLookUp: true) { request, _, _, _ in
      let order = try Shape.search(request)
      let search = SearchAccounts(shared.environment)
      return .task {
        let found = try await search(order)
        return SearchResponse(
          accounts: found.accounts.map(API.Account.init), nextPageToken: found.nextToken ?? "",
          match: SearchMatch(found.match))
      }
    }
  }
}

extension SearchMatch {
  fileprivate init(_ match: MatchKind) {
    switch match {
    case .part: self = .part
    case .beginning: self = .beginning
    }
  }
}

extension Shape {
  fileprivate static func search(_ request: SearchRequest) throws -> SearchAccountsRequest {
    let size = Int(request.pageSize)
    guard 0...SearchAccounts.accountsMax ~= size else {
      throw invalid(
        "page_size", "Send 1 to \(SearchAccounts.accountsMax), or 0 for \(SearchAccounts.usualAccounts).")
    }
    let providerID = try text(request.providerID, "provider_id", bytesMax: providerIDBytesMax)
    var filter = SearchFilter()
    filter.disabled = request.disabled
    filter.unverified = request.unverified
    filter.providerID = providerID.isEmpty ? nil : providerID
    filter.createdFrom = request.createdFromMillis.map(Timestamp.init)
    filter.createdBefore = request.createdBeforeMillis.map(Timestamp.init)
    filter.lastSignInFrom = request.lastSignInFromMillis.map(Timestamp.init)
    filter.lastSignInBefore = request.lastSignInBeforeMillis.map(Timestamp.init)
    return SearchAccountsRequest(
      text: try text(request.query, "query", bytesMax: SearchAccounts.textBytesMax), filter: filter,
      pageToken: try text(request.pageToken, "page_token", bytesMax: pageTokenBytesMax),
      accountsMax: size == 0 ? SearchAccounts.usualAccounts : size)
  }
}
