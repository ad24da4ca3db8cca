internal import Client
internal import Messages

/// Who hears what a call came to: one call at a time, any number one after the other.
@safe
final class Reply {
  /// Set once, before the first call.
  var receive: (Result<Answer, CallStatus>) -> Void = { _ in }
  /// That of the call under way.
  var stub: Stub?

  fileprivate static func hear(_ context: UnsafeMutableRawPointer?, _ answer: Answer?) {
    guard let context = unsafe context else { preconditionFailure("every call has its reply") }
    let reply = unsafe Unmanaged<Reply>.fromOpaque(context).takeUnretainedValue()
    reply.receive(answer.map(Result.success) ?? .failure(reply.stub?.status ?? CallStatus(.unknown)))
  }
}

// The closures of the generated stubs. A message is gone when its closure returns, so what is wanted is copied here.

let onCheck: Grpc__Health__V1__HealthCheckResponse_Closure = { message, context in
  unsafe Reply.hear(
    context,
    message.map {
      unsafe .serving($0.pointee.status == GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING)
    })
}

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
      case LATCHKEY__V1__SIGN_IN_RESPONSE__OUTCOME_SECOND_FACTOR_REQUIRED: return .other("second_factor_required")
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

let onUnlink: Latchkey__V1__UnlinkResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe session($0.pointee.session) })
}

let onRefresh: Latchkey__V1__RefreshResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe session($0.pointee.session) })
}

let onGet: Latchkey__V1__GetResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe .account(account($0.pointee.account)) })
}

let onLookup: Latchkey__V1__LookupResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe .account(account($0.pointee.account)) })
}

let onDelete: Latchkey__V1__DeleteResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { _ in .done })
}

let onSignOut: Latchkey__V1__SignOutResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { _ in .done })
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

let onCustomToken: Latchkey__V1__CreateCustomTokenResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe .customToken(text($0.pointee.custom_token)) })
}

// MARK: Parts of answers

private func session(_ form: UnsafePointer<Latchkey__V1__Session>?) -> Answer {
  guard let form = unsafe form else { return .other("none") }
  return unsafe .session(
    SessionFacts(
      idToken: text(form.pointee.id_token), refreshToken: text(form.pointee.refresh_token),
      account: account(form.pointee.account), isNew: form.pointee.is_new_account != 0))
}

private func account(_ form: UnsafePointer<Latchkey__V1__Account>?) -> AccountFacts {
  guard let form = unsafe form else { return AccountFacts(id: "", email: "", isAnonymous: false, providerIDs: []) }
  var providerIDs: [String] = []
  for index in 0..<Int(unsafe form.pointee.n_providers) {
    guard let provider = unsafe form.pointee.providers[index] else { continue }
    unsafe providerIDs.append(text(provider.pointee.provider_id))
  }
  return unsafe AccountFacts(
    id: text(form.pointee.account_id), email: text(form.pointee.email), isAnonymous: form.pointee.anonymous != 0,
    providerIDs: providerIDs)
}

private func texts(_ count: Int, _ values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> [String] {
  guard let values = unsafe values else { return [] }
  return (0..<count).map { unsafe text(values[$0]) }
}

/// The server sends UTF-8 (proto3); anything else would be repaired, and then not be what is expected.
private func text(_ value: UnsafePointer<CChar>?) -> String {
  guard let value = unsafe value else { return "" }
  return unsafe String(cString: value)
}
