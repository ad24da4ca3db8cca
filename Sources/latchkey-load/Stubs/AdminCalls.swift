internal import Client
internal import Messages

extension Stubs {
  func sendHealth(_ call: Call, _ service: Stub.ServicePointer, _ context: UnsafeMutableRawPointer) {
    let request = unsafe scratch.form(grpc__health__v1__health_check_request__init)
    if case .watchHealth = call {
      unsafe grpc__health__v1__health__watch(service, request, onWatchHealth, context)
    } else {
      unsafe grpc__health__v1__health__check(service, request, onCheck, context)
    }
  }

  func sendEvent(_ call: Call, _ service: Stub.ServicePointer, _ context: UnsafeMutableRawPointer) {
    guard case .watchEvents(let cursor, _) = call else { return }
    let request = unsafe scratch.form(latchkey__v1__watch_events_request__init)
    unsafe request.pointee.cursor = scratch.text(cursor)
    unsafe request.pointee.types = scratch.list([scratch.text("ACCOUNT_CREATED")])
    unsafe request.pointee.n_types = 1
    unsafe latchkey__v1__event_service__watch(service, request, onWatchEvents, context)
  }

  func sendAdmin(_ call: Call, _ service: Stub.ServicePointer, _ context: UnsafeMutableRawPointer) {
    switch call {
    case .lookup(let email):
      let request = unsafe scratch.form(latchkey__v1__lookup_request__init)
      unsafe request.pointee.subject_case = LATCHKEY__V1__LOOKUP_REQUEST__SUBJECT_EMAIL
      unsafe request.pointee.email = scratch.text(email)
      unsafe latchkey__v1__admin_service__lookup(service, request, onLookup, context)
    case .createCustomToken(let accountID):
      let request = unsafe scratch.form(latchkey__v1__create_custom_token_request__init)
      unsafe request.pointee.account_id = scratch.text(accountID)
      unsafe latchkey__v1__admin_service__create_custom_token(service, request, onCustomToken, context)
    case .list(let pageToken):
      let request = unsafe scratch.form(latchkey__v1__list_request__init)
      unsafe request.pointee.page_token = scratch.text(pageToken)
      unsafe latchkey__v1__admin_service__list(service, request, onList, context)
    case .setDisabled(let accountID, let disabled):
      let request = unsafe scratch.form(latchkey__v1__set_disabled_request__init)
      unsafe request.pointee.account_id = scratch.text(accountID)
      unsafe request.pointee.disabled = disabled ? 1 : 0
      unsafe latchkey__v1__admin_service__set_disabled(service, request, onSetDisabled, context)
    case .setCustomClaims(let accountID, let json):
      let request = unsafe scratch.form(latchkey__v1__set_custom_claims_request__init)
      unsafe request.pointee.account_id = scratch.text(accountID)
      unsafe request.pointee.claims_json = scratch.text(json)
      unsafe latchkey__v1__admin_service__set_custom_claims(service, request, onSetCustomClaims, context)
    case .revokeSessions(let accountID):
      let request = unsafe scratch.form(latchkey__v1__revoke_sessions_request__init)
      unsafe request.pointee.account_id = scratch.text(accountID)
      unsafe latchkey__v1__admin_service__revoke_sessions(service, request, onRevokeSessions, context)
    case .deleteAccount(let accountID):
      let request = unsafe scratch.form(latchkey__v1__delete_account_request__init)
      unsafe request.pointee.account_id = scratch.text(accountID)
      unsafe latchkey__v1__admin_service__delete_account(service, request, onDeleteAccount, context)
    case .removeSecondFactors(let accountID):
      let request = unsafe scratch.form(latchkey__v1__remove_second_factors_request__init)
      unsafe request.pointee.account_id = scratch.text(accountID)
      unsafe latchkey__v1__admin_service__remove_second_factors(service, request, onRemoveFactors, context)
    case .unlinkProvider(let accountID, let providerID):
      let request = unsafe scratch.form(latchkey__v1__unlink_provider_request__init)
      unsafe request.pointee.account_id = scratch.text(accountID)
      unsafe request.pointee.provider_id = scratch.text(providerID)
      unsafe latchkey__v1__admin_service__unlink_provider(service, request, onUnlinkProvider, context)
    case .importAccounts(let rows):
      unsafe latchkey__v1__admin_service__import_accounts(service, batch(rows), onImport, context)
    case .exportAccounts:
      let request = unsafe scratch.form(latchkey__v1__export_accounts_request__init)
      unsafe latchkey__v1__admin_service__export_accounts(service, request, onExport, context)
    default: break
    }
  }

  /// The only message of a stream.
  private func batch(_ rows: [ImportRow]) -> UnsafeMutablePointer<Latchkey__V1__ImportAccountsRequest> {
    let request = unsafe scratch.form(latchkey__v1__import_accounts_request__init)
    unsafe request.pointee.accounts = scratch.list(
      rows.map { row in
        let account = unsafe scratch.form(latchkey__v1__imported_account__init)
        unsafe account.pointee.account_id = scratch.text(row.accountID)
        unsafe account.pointee.email = scratch.text(row.email)
        unsafe account.pointee.email_verified = 1
        if !row.factorNumber.isEmpty {
          let factor = unsafe scratch.form(latchkey__v1__imported_phone_factor__init)
          unsafe factor.pointee.phone_number = scratch.text(row.factorNumber)
          unsafe account.pointee.phone_factors = scratch.list([factor])
          unsafe account.pointee.n_phone_factors = 1
        }
        if !row.subject.isEmpty {
          let identity = unsafe scratch.form(latchkey__v1__linked_provider__init)
          unsafe identity.pointee.provider_id = scratch.text(ImportRow.providerID)
          unsafe identity.pointee.subject = scratch.text(row.subject)
          unsafe account.pointee.providers = scratch.list([identity])
          unsafe account.pointee.n_providers = 1
        }
        return unsafe account
      })
    unsafe request.pointee.n_accounts = rows.count
    return unsafe request
  }
}

// MARK: Answers

let onCheck: Grpc__Health__V1__HealthCheckResponse_Closure = { message, context in
  unsafe Reply.hear(
    context,
    message.map {
      unsafe .serving($0.pointee.status == GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING)
    })
}

let onWatchHealth: Grpc__Health__V1__HealthCheckResponse_Closure = { message, context in
  unsafe Reply.gather(
    context,
    message.map {
      unsafe .serving($0.pointee.status == GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING)
    })
}

let onWatchEvents: Latchkey__V1__WatchEventsResponse_Closure = { message, context in
  unsafe Reply.gather(
    context,
    message.map { message in
      var facts = unsafe EventFacts(cursor: text(message.pointee.cursor))
      if let event = unsafe message.pointee.event {
        unsafe facts.type = text(event.pointee.type)
        unsafe facts.accountID = text(event.pointee.account_id)
      }
      return .event(facts)
    })
}

let onLookup: Latchkey__V1__LookupResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe .account(account($0.pointee.account)) })
}

let onList: Latchkey__V1__ListResponse_Closure = { message, context in
  unsafe Reply.hear(
    context,
    message.map { message in
      let ids = unsafe forms(message.pointee.n_accounts, message.pointee.accounts) {
        unsafe text($0.pointee.account_id)
      }
      return unsafe .page(accountIDs: ids, nextToken: text(message.pointee.next_page_token))
    })
}

let onSetDisabled: Latchkey__V1__SetDisabledResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe .account(account($0.pointee.account)) })
}

let onSetCustomClaims: Latchkey__V1__SetCustomClaimsResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe .account(account($0.pointee.account)) })
}

let onRevokeSessions: Latchkey__V1__RevokeSessionsResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe .closed(sessions: Int($0.pointee.closed)) })
}

let onDeleteAccount: Latchkey__V1__DeleteAccountResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { _ in .done })
}

let onRemoveFactors: Latchkey__V1__RemoveSecondFactorsResponse_Closure = { message, context in
  unsafe Reply.hear(
    context,
    message.map { unsafe .factorsRemoved(count: Int($0.pointee.removed), of: account($0.pointee.account)) })
}

let onUnlinkProvider: Latchkey__V1__UnlinkProviderResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe .account(account($0.pointee.account)) })
}

let onCustomToken: Latchkey__V1__CreateCustomTokenResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe .customToken(text($0.pointee.custom_token)) })
}

let onImport: Latchkey__V1__ImportAccountsResponse_Closure = { message, context in
  unsafe Reply.gather(
    context,
    message.map { message in
      let reasons = unsafe forms(message.pointee.n_errors, message.pointee.errors) { unsafe text($0.pointee.reason) }
      return unsafe .imported(
        ImportFacts(
          imported: Int(message.pointee.imported), unchanged: Int(message.pointee.unchanged), reasons: reasons))
    })
}

let onExport: Latchkey__V1__ExportAccountsResponse_Closure = { message, context in
  unsafe Reply.gather(
    context,
    message.map { message in
      let ids = unsafe forms(message.pointee.n_accounts, message.pointee.accounts) {
        unsafe account($0.pointee.account).id
      }
      return .exported(accounts: ids.count, whole: ids.count { !$0.isEmpty })
    })
}
