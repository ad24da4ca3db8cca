internal import Client
internal import Messages

extension Stubs {
  func sendAccount(_ call: Call, _ service: Stub.ServicePointer, _ context: UnsafeMutableRawPointer) {
    switch call {
    case .create(let login):
      let request = unsafe scratch.form(latchkey__v1__create_request__init)
      unsafe request.pointee.email = scratch.text(login.email)
      unsafe request.pointee.password = scratch.text(login.password)
      unsafe latchkey__v1__account_service__create(service, request, onCreate, context)
    case .get(let idToken):
      let request = unsafe scratch.form(latchkey__v1__get_request__init)
      unsafe request.pointee.id_token = scratch.text(idToken)
      unsafe latchkey__v1__account_service__get(service, request, onGet, context)
    case .delete(let idToken):
      let request = unsafe scratch.form(latchkey__v1__delete_request__init)
      unsafe request.pointee.id_token = scratch.text(idToken)
      unsafe latchkey__v1__account_service__delete(service, request, onDelete, context)
    case .update(let idToken, let displayName):
      let request = unsafe scratch.form(latchkey__v1__update_request__init)
      let account = unsafe scratch.form(latchkey__v1__account__init)
      unsafe account.pointee.display_name = scratch.text(displayName)
      let mask = unsafe scratch.form(google__protobuf__field_mask__init)
      unsafe mask.pointee.paths = scratch.list([scratch.text("display_name")])
      unsafe mask.pointee.n_paths = 1
      unsafe request.pointee.id_token = scratch.text(idToken)
      unsafe request.pointee.account = account
      unsafe request.pointee.update_mask = mask
      unsafe latchkey__v1__account_service__update(service, request, onUpdate, context)
    case .merge(let survivorIDToken, let otherIDToken):
      let request = unsafe scratch.form(latchkey__v1__merge_request__init)
      unsafe request.pointee.survivor_id_token = scratch.text(survivorIDToken)
      unsafe request.pointee.other_id_token = scratch.text(otherIDToken)
      unsafe latchkey__v1__account_service__merge(service, request, onMerge, context)
    default: break
    }
  }

  func sendSession(_ call: Call, _ service: Stub.ServicePointer, _ context: UnsafeMutableRawPointer) {
    switch call {
    case .refresh(let refreshToken):
      let request = unsafe scratch.form(latchkey__v1__refresh_request__init)
      unsafe request.pointee.refresh_token = scratch.text(refreshToken)
      unsafe latchkey__v1__session_service__refresh(service, request, onRefresh, context)
    case .signOut(let idToken):
      let request = unsafe scratch.form(latchkey__v1__sign_out_request__init)
      unsafe request.pointee.id_token = scratch.text(idToken)
      unsafe latchkey__v1__session_service__sign_out(service, request, onSignOut, context)
    case .verify(let idToken):
      let request = unsafe scratch.form(latchkey__v1__verify_id_token_request__init)
      unsafe request.pointee.id_token = scratch.text(idToken)
      unsafe latchkey__v1__session_service__verify_id_token(service, request, onVerify, context)
    case .signingKeys:
      let request = unsafe scratch.form(latchkey__v1__get_signing_keys_request__init)
      unsafe latchkey__v1__session_service__get_signing_keys(service, request, onSigningKeys, context)
    case .revokeAll(let idToken):
      let request = unsafe scratch.form(latchkey__v1__revoke_all_request__init)
      unsafe request.pointee.id_token = scratch.text(idToken)
      unsafe latchkey__v1__session_service__revoke_all(service, request, onRevokeAll, context)
    case .listSessions(let idToken):
      let request = unsafe scratch.form(latchkey__v1__list_sessions_request__init)
      unsafe request.pointee.id_token = scratch.text(idToken)
      unsafe latchkey__v1__session_service__list_sessions(service, request, onListSessions, context)
    default: break
    }
  }

  func sendFlow(_ call: Call, _ service: Stub.ServicePointer, _ context: UnsafeMutableRawPointer) {
    switch call {
    case .listProviders:
      let request = unsafe scratch.form(latchkey__v1__list_providers_request__init)
      unsafe latchkey__v1__provider_flow_service__list_providers(service, request, onListProviders, context)
    case .startFlow(let wish):
      let request = unsafe scratch.form(latchkey__v1__start_flow_request__init)
      unsafe request.pointee.provider_id = scratch.text(wish.providerID)
      unsafe request.pointee.redirect_uri = scratch.text(wish.redirectURI)
      unsafe latchkey__v1__provider_flow_service__start_flow(service, request, onStartFlow, context)
    default: break
    }
  }
}

// MARK: Answers

let onCreate: Latchkey__V1__CreateResponse_Closure = { message, context in
  unsafe Reply.hear(
    context,
    message.map { message in
      switch unsafe message.pointee.outcome_case {
      case LATCHKEY__V1__CREATE_RESPONSE__OUTCOME_SESSION: return unsafe session(message.pointee.session)
      case LATCHKEY__V1__CREATE_RESPONSE__OUTCOME_VERIFICATION_SENT: return .other("verification_sent")
      default: return .other("none")
      }
    })
}

let onGet: Latchkey__V1__GetResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe .account(account($0.pointee.account)) })
}

let onDelete: Latchkey__V1__DeleteResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { _ in .done })
}

let onUpdate: Latchkey__V1__UpdateResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe session($0.pointee.session) })
}

let onMerge: Latchkey__V1__MergeResponse_Closure = { message, context in
  unsafe Reply.hear(
    context,
    message.map { message in
      let closedAccountID = unsafe text(message.pointee.closed_account_id)
      return unsafe .merged(facts(ofSession: message.pointee.session), closedAccountID: closedAccountID)
    })
}

let onRefresh: Latchkey__V1__RefreshResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe session($0.pointee.session) })
}

let onSignOut: Latchkey__V1__SignOutResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { _ in .done })
}

let onRevokeAll: Latchkey__V1__RevokeAllResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe .closed(sessions: Int($0.pointee.closed)) })
}

let onListSessions: Latchkey__V1__ListSessionsResponse_Closure = { message, context in
  unsafe Reply.hear(
    context,
    message.map { message in
      unsafe .sessions(
        forms(message.pointee.n_sessions, message.pointee.sessions) {
          unsafe ListedSession(id: text($0.pointee.session_id), isCurrent: $0.pointee.current != 0)
        })
    })
}

let onVerify: Latchkey__V1__VerifyIdTokenResponse_Closure = { message, context in
  unsafe Reply.hear(
    context,
    message.map {
      unsafe .verdict(
        active: $0.pointee.active != 0, accountID: text($0.pointee.account_id),
        reason: text($0.pointee.inactive_reason))
    })
}

let onSigningKeys: Latchkey__V1__GetSigningKeysResponse_Closure = { message, context in
  unsafe Reply.hear(
    context,
    // Each key of a set has a `kty` (RFC 7517 4.1).
    message.map { unsafe .signingKeys(count: text($0.pointee.jwks_json).split(separator: "\"kty\"").count - 1) })
}

let onListProviders: Latchkey__V1__ListProvidersResponse_Closure = { message, context in
  unsafe Reply.hear(
    context, message.map { unsafe .providers(texts($0.pointee.n_provider_ids, $0.pointee.provider_ids)) })
}

let onStartFlow: Latchkey__V1__StartFlowResponse_Closure = { message, context in
  unsafe Reply.hear(
    context,
    message.map { unsafe .flow(id: text($0.pointee.flow_id), url: text($0.pointee.authorization_url)) })
}
