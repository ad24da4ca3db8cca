internal import API

extension CallSender {
  func sendHealth(_ call: Call, _ reply: Reply) {
    if case .watchHealth = call {
      stream(call, HealthRPC.watch, HealthCheckRequest(), reply) { .serving($0.status == .serving) }
    } else {
      unary(call, HealthRPC.check, HealthCheckRequest(), reply) { .serving($0.status == .serving) }
    }
  }

  func sendAdmin(_ call: Call, _ reply: Reply) {
    switch call {
    case .lookup(let email):
      unary(call, AdminRPC.lookup, LookupRequest(subject: .email(email)), reply) { .account(AccountFacts($0.account)) }
    case .createCustomToken(let accountID):
      unary(call, AdminRPC.createCustomToken, CreateCustomTokenRequest(accountID: accountID), reply) {
        .customToken($0.customToken)
      }
    case .list(let pageToken):
      unary(call, AdminRPC.list, ListRequest(pageToken: pageToken), reply) {
        .page(accountIDs: $0.accounts.map(\.accountID), nextToken: $0.nextPageToken)
      }
    case .setDisabled(let accountID, let disabled):
      unary(call, AdminRPC.setDisabled, SetDisabledRequest(accountID: accountID, disabled: disabled), reply) {
        .account(AccountFacts($0.account))
      }
    case .setCustomClaims(let accountID, let json):
      unary(call, AdminRPC.setCustomClaims, SetCustomClaimsRequest(accountID: accountID, claimsJSON: json), reply) {
        .account(AccountFacts($0.account))
      }
    case .revokeSessions(let accountID):
      unary(call, AdminRPC.revokeSessions, RevokeSessionsRequest(accountID: accountID), reply) {
        .closed(sessions: Int($0.closed))
      }
    case .deleteAccount(let accountID):
      unary(call, AdminRPC.deleteAccount, DeleteAccountRequest(accountID: accountID), reply) { _ in .done }
    case .removeSecondFactors(let accountID):
      unary(call, AdminRPC.removeSecondFactors, RemoveSecondFactorsRequest(accountID: accountID), reply) {
        .factorsRemoved(count: Int($0.removed), of: AccountFacts($0.account))
      }
    case .unlinkProvider(let accountID, let providerID):
      let request = UnlinkProviderRequest(accountID: accountID, providerID: providerID)
      unary(call, AdminRPC.unlinkProvider, request, reply) { .account(AccountFacts($0.account)) }
    default: break
    }
  }

  func sendStream(_ call: Call, _ reply: Reply) {
    switch call {
    case .importAccounts(let rows):
      // The stream has only this message.
      let request = ImportAccountsRequest(accounts: rows.map(\.message))
      stream(call, AdminRPC.importAccounts, request, reply) {
        .imported(
          ImportFacts(
            imported: Int($0.imported), unchanged: Int($0.unchanged), reasons: $0.errors.map { $0.reason?.name ?? "" }))
      }
    case .exportAccounts:
      stream(call, AdminRPC.exportAccounts, ExportAccountsRequest(), reply) {
        .exported(
          accounts: $0.accounts.count, whole: $0.accounts.count { $0.account?.accountID.isEmpty == false })
      }
    case .watchEvents(let cursor, _):
      let request = WatchEventsRequest(cursor: cursor, types: [.accountCreated])
      stream(call, EventRPC.watch, request, reply) {
        .event(EventFacts(cursor: $0.cursor, type: $0.event?.type?.name ?? "", accountID: $0.event?.accountID ?? ""))
      }
    default: break
    }
  }
}

extension ImportRow {
  fileprivate var message: ImportedAccount {
    ImportedAccount(
      accountID: accountID, email: email, emailVerified: true,
      providers: subject.isEmpty ? [] : [LinkedProvider(providerID: ImportRow.providerID, subject: subject)],
      phoneFactors: factorNumber.isEmpty ? [] : [ImportedPhoneFactor(phoneNumber: factorNumber)])
  }
}
