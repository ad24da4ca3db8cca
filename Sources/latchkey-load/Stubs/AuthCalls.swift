internal import Client
internal import Messages

extension Stubs {
  func sendAuth(_ call: Call, _ service: Stub.ServicePointer, _ context: UnsafeMutableRawPointer) {
    switch call {
    case .fetch, .fetchHeld: unsafe latchkey__v1__auth_service__fetch_providers(service, fetch(call), onFetch, context)
    case .signIn(let credential, let pendingToken):
      let request = unsafe scratch.form(latchkey__v1__sign_in_request__init)
      unsafe request.pointee.credential = scratch.credential(credential)
      unsafe request.pointee.pending_token = scratch.text(pendingToken)
      unsafe latchkey__v1__auth_service__sign_in(service, request, onSignIn, context)
    case .link(let idToken, let token):
      let request = unsafe scratch.form(latchkey__v1__link_request__init)
      unsafe request.pointee.id_token = scratch.text(idToken)
      unsafe request.pointee.credential = scratch.credential(.provider(token))
      unsafe latchkey__v1__auth_service__link(service, request, onLink, context)
    case .unlink(let idToken, let providerID):
      let request = unsafe scratch.form(latchkey__v1__unlink_request__init)
      unsafe request.pointee.id_token = scratch.text(idToken)
      unsafe request.pointee.provider_id = scratch.text(providerID)
      unsafe latchkey__v1__auth_service__unlink(service, request, onUnlink, context)
    case .reauthenticate(let idToken, let credential):
      let request = unsafe scratch.form(latchkey__v1__reauthenticate_request__init)
      unsafe request.pointee.id_token = scratch.text(idToken)
      unsafe request.pointee.credential = scratch.credential(credential)
      unsafe latchkey__v1__auth_service__reauthenticate(service, request, onReauthenticate, context)
    default: break
    }
  }

  private func fetch(_ call: Call) -> UnsafeMutablePointer<Latchkey__V1__FetchProvidersRequest> {
    let request = unsafe scratch.form(latchkey__v1__fetch_providers_request__init)
    switch call {
    case .fetch(let email):
      unsafe request.pointee.subject_case = LATCHKEY__V1__FETCH_PROVIDERS_REQUEST__SUBJECT_EMAIL
      unsafe request.pointee.email = scratch.text(email)
    case .fetchHeld(let pendingToken):
      unsafe request.pointee.subject_case = LATCHKEY__V1__FETCH_PROVIDERS_REQUEST__SUBJECT_PENDING_TOKEN
      unsafe request.pointee.pending_token = scratch.text(pendingToken)
    default: break
    }
    return unsafe request
  }
}

extension Scratch {
  fileprivate func credential(_ value: Credential) -> UnsafeMutablePointer<Latchkey__V1__Credential> {
    let credential = unsafe form(latchkey__v1__credential__init)
    switch value {
    case .password(let login):
      let password = unsafe form(latchkey__v1__password_credential__init)
      unsafe password.pointee.email = text(login.email)
      unsafe password.pointee.password = text(login.password)
      unsafe credential.pointee.kind_case = LATCHKEY__V1__CREDENTIAL__KIND_PASSWORD
      unsafe credential.pointee.password = password
    case .provider(let token):
      let provider = unsafe form(latchkey__v1__provider_token_credential__init)
      unsafe provider.pointee.provider_id = text(token.providerID)
      unsafe provider.pointee.id_token = text(token.idToken)
      unsafe credential.pointee.kind_case = LATCHKEY__V1__CREDENTIAL__KIND_PROVIDER_TOKEN
      unsafe credential.pointee.provider_token = provider
    case .customToken(let token):
      let custom = unsafe form(latchkey__v1__custom_token_credential__init)
      unsafe custom.pointee.token = text(token)
      unsafe credential.pointee.kind_case = LATCHKEY__V1__CREDENTIAL__KIND_CUSTOM_TOKEN
      unsafe credential.pointee.custom_token = custom
    case .anonymous:
      unsafe credential.pointee.kind_case = LATCHKEY__V1__CREDENTIAL__KIND_ANONYMOUS
      unsafe credential.pointee.anonymous = form(latchkey__v1__anonymous_credential__init)
    }
    return unsafe credential
  }
}

// MARK: Answers

let onFetch: Latchkey__V1__FetchProvidersResponse_Closure = { message, context in
  unsafe Reply.hear(
    context,
    message.map { message in
      unsafe .ways(
        registered: message.pointee.registered != 0,
        methods: texts(message.pointee.n_sign_in_methods, message.pointee.sign_in_methods),
        held: message.pointee.pending.map {
          unsafe Held(providerID: text($0.pointee.provider_id), email: text($0.pointee.email))
        })
    })
}

let onSignIn: Latchkey__V1__SignInResponse_Closure = { message, context in
  unsafe Reply.hear(
    context,
    message.map { message in
      switch unsafe message.pointee.outcome_case {
      case LATCHKEY__V1__SIGN_IN_RESPONSE__OUTCOME_SESSION: return unsafe session(message.pointee.session)
      case LATCHKEY__V1__SIGN_IN_RESPONSE__OUTCOME_ACCOUNT_EXISTS:
        guard let exists = unsafe message.pointee.account_exists else { return .other("none") }
        return unsafe .accountExists(
          email: text(exists.pointee.email), pendingToken: text(exists.pointee.pending_token))
      case LATCHKEY__V1__SIGN_IN_RESPONSE__OUTCOME_SECOND_FACTOR_REQUIRED:
        guard let required = unsafe message.pointee.second_factor_required else { return .other("none") }
        return unsafe .secondFactorRequired(
          pendingToken: text(required.pointee.pending_token),
          factors: factors(required.pointee.n_hints, required.pointee.hints))
      default: return .other("none")
      }
    })
}

let onLink: Latchkey__V1__LinkResponse_Closure = { message, context in
  unsafe Reply.hear(
    context,
    message.map { message in
      switch unsafe message.pointee.outcome_case {
      case LATCHKEY__V1__LINK_RESPONSE__OUTCOME_SESSION: return unsafe session(message.pointee.session)
      case LATCHKEY__V1__LINK_RESPONSE__OUTCOME_CREDENTIAL_IN_USE: return .other("credential_in_use")
      case LATCHKEY__V1__LINK_RESPONSE__OUTCOME_SECOND_FACTOR_REQUIRED: return .other("second_factor_required")
      default: return .other("none")
      }
    })
}

let onReauthenticate: Latchkey__V1__ReauthenticateResponse_Closure = { message, context in
  unsafe Reply.hear(
    context,
    message.map { message in
      switch unsafe message.pointee.outcome_case {
      case LATCHKEY__V1__REAUTHENTICATE_RESPONSE__OUTCOME_SESSION: return unsafe session(message.pointee.session)
      case LATCHKEY__V1__REAUTHENTICATE_RESPONSE__OUTCOME_SECOND_FACTOR_REQUIRED:
        return .other("second_factor_required")
      default: return .other("none")
      }
    })
}

let onUnlink: Latchkey__V1__UnlinkResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe session($0.pointee.session) })
}
