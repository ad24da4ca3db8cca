internal import API

// Workloads of AdminService and EventService, except those that end sessions.

extension Step {
  static func lookup(_ user: LoadUser) -> Step {
    .call(AdminRPC.lookup, LookupRequest(subject: .email(user.login.email))) { response, _ in
      account(response.account, is: user.accountID)
    }
  }

  static func customToken(_ user: LoadUser, _ then: @escaping (String) -> Step = { _ in .done }) -> Step {
    let request = CreateCustomTokenRequest(accountID: user.accountID ?? "")
    return .call(AdminRPC.createCustomToken, request) { response, _ in
      response.customToken.isEmpty ? .wrong("an empty custom token") : then(response.customToken)
    }
  }

  static func setCustomClaims(_ user: LoadUser, mark: UInt64) -> Step {
    let request = SetCustomClaimsRequest(accountID: user.accountID ?? "", claimsJSON: #"{"load":"\#(mark)"}"#)
    return .call(AdminRPC.setCustomClaims, request) { response, _ in
      account(response.account, is: user.accountID) {
        $0.customClaimsJSON.contains("\"\(mark)\"") ? .done : .wrong("the account has other claims")
      }
    }
  }

  /// Lists the first two pages of accounts.
  static var listAccounts: Step {
    page("") { first, nextToken in
      if first.isEmpty { return .wrong("the first page is empty") }
      if nextToken.isEmpty { return .done }
      return page(nextToken) { second, _ in
        first.isDisjoint(with: second) ? .done : .wrong("two pages have the same account")
      }
    }
  }

  private static func page(_ token: String, _ then: @escaping (Set<String>, _ nextToken: String) -> Step) -> Step {
    .call(AdminRPC.list, ListRequest(pageToken: token)) { response, _ in
      let page = Set(response.accounts.map(\.accountID))
      guard page.count == response.accounts.count, !page.contains("") else {
        return .wrong("a page has the same account twice")
      }
      return then(page, response.nextPageToken)
    }
  }

  static func importAccounts(_ accounts: [ImportedAccount]) -> Step {
    imported(accounts) { result in
      if let error = result.errors.first { return .wrong("a row was rejected: \(error.reason?.name ?? "")") }
      return Int(result.imported) == accounts.count && result.unchanged == 0 ? .done : .wrong("a row is missing")
    }
  }

  /// Imports an account, and removes the phone that is its second factor.
  static func removeFactors(of account: ImportedAccount) -> Step {
    imported(account) {
      .call(AdminRPC.removeSecondFactors, RemoveSecondFactorsRequest(accountID: account.accountID)) { response, _ in
        self.account(response.account, is: account.accountID) {
          let isRemoved = response.removed == 1 && $0.secondFactors.isEmpty
          return isRemoved ? .done : .wrong("the account still has the removed factor")
        }
      }
    }
  }

  /// Imports an account, and unlinks its only provider. The account must keep its email address.
  static func unlinkProvider(of account: ImportedAccount) -> Step {
    imported(account) {
      let request = UnlinkProviderRequest(
        accountID: account.accountID, providerID: account.providers.first?.providerID ?? "")
      return .call(AdminRPC.unlinkProvider, request) { response, _ in
        self.account(response.account, is: account.accountID) {
          guard $0.providers.isEmpty else { return .wrong("the account still has the unlinked provider") }
          return $0.email == account.email ? .done : .wrong("the account lost its email address")
        }
      }
    }
  }

  static func provisionAccount(email: String) -> Step {
    .call(AdminRPC.createAccount, CreateAccountRequest(email: email, emailVerified: true)) { response, _ in
      guard let made = response.account, made.email == email else { return .wrong("the account has no address") }
      let request = UpdateAccountRequest(
        accountID: made.accountID, account: Account(displayName: "Load"),
        updateMask: FieldMask(paths: ["display_name"]))
      return .call(AdminRPC.updateAccount, request) { response, _ in
        account(response.account, is: made.accountID) {
          $0.displayName == "Load" ? .done : .wrong("the account has another name")
        }
      }
    }
  }

  /// Searches for an account by its whole email address, which both kinds of index find.
  static func search(for user: LoadUser) -> Step {
    .call(AdminRPC.search, SearchRequest(query: user.login.email)) { response, _ in
      let isFound = response.accounts.contains { $0.email == user.login.email }
      return isFound ? .done : .wrong("the account was not found")
    }
  }

  static func imported(_ account: ImportedAccount, _ then: @escaping () -> Step) -> Step {
    imported([account]) { $0.imported == 1 ? then() : .wrong("the account was not imported") }
  }

  /// Imports accounts. The request stream has only one message.
  private static func imported(
    _ accounts: [ImportedAccount], _ then: @escaping (ImportAccountsResponse) -> Step
  ) -> Step {
    let add = { (sum: inout ImportAccountsResponse, batch: ImportAccountsResponse) in
      sum.imported += batch.imported
      sum.unchanged += batch.unchanged
      sum.errors += batch.errors
    }
    let request = ImportAccountsRequest(accounts: accounts)
    return .all(AdminRPC.importAccounts, request, into: ImportAccountsResponse(), add, then: then)
  }

  /// Exports all accounts.
  ///
  /// - Parameter accountsMin: the number of accounts that were created for the run.
  static func exportAccounts(accountsMin: Int) -> Step {
    let add = { (counts: inout (accounts: Int, withoutID: Int), batch: ExportAccountsResponse) in
      counts.accounts += batch.accounts.count
      counts.withoutID += batch.accounts.count { $0.account?.accountID.isEmpty != false }
    }
    return .all(AdminRPC.exportAccounts, ExportAccountsRequest(), into: (0, 0), add) { accounts, withoutID in
      guard withoutID == 0 else { return .wrong("an exported account has no ID") }
      return accounts >= accountsMin ? .done : .wrong("the export lacks accounts")
    }
  }

  /// Watches events until the server reports the sign-in of a new user.
  static var watchEvents: Step {
    .first(EventRPC.watch, WatchRequest(cursor: "now", types: [.accountCreated])) { begun in
      guard !begun.cursor.isEmpty else { return .wrong("the stream has no cursor") }
      return withAnonymousSession { anonymous in
        let request = WatchRequest(cursor: begun.cursor, types: [.accountCreated])
        let isExpected = { (response: WatchResponse) in response.event?.accountID == anonymous.accountID }
        return .first(EventRPC.watch, request, where: isExpected) { response in
          let type = response.event?.type
          return type == .accountCreated ? .done : .wrong("\(type?.name ?? "") instead of ACCOUNT_CREATED")
        }
      }
    }
  }
}
