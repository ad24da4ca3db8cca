internal import API

extension CallSender {
  func sendAuth(_ call: Call, _ reply: Reply) {
    switch call {
    case .fetch(let email): fetch(call, .email(email), reply)
    case .fetchHeld(let pendingToken): fetch(call, .pendingToken(pendingToken), reply)
    case .signIn(let credential, let pendingToken):
      let request = SignInRequest(credential: credential.message, pendingToken: pendingToken)
      unary(call, AuthRPC.signIn, request, reply) { $0.outcome.map(Answer.init) ?? .other("none") }
    case .link(let idToken, let token):
      let request = LinkRequest(idToken: idToken, credential: Credential.provider(token).message)
      unary(call, AuthRPC.link, request, reply) { response in
        switch response.outcome {
        case .session(let session): .session(SessionFacts(session))
        case .credentialInUse: .other("credential_in_use")
        case .secondFactorRequired: .other("second_factor_required")
        case nil: .other("none")
        }
      }
    case .unlink(let idToken, let providerID):
      unary(call, AuthRPC.unlink, UnlinkRequest(idToken: idToken, providerID: providerID), reply) {
        Answer(session: $0.session)
      }
    case .reauthenticate(let idToken, let credential):
      let request = ReauthenticateRequest(idToken: idToken, credential: credential.message)
      unary(call, AuthRPC.reauthenticate, request, reply) { response in
        switch response.outcome {
        case .session(let session): .session(SessionFacts(session))
        case .secondFactorRequired: .other("second_factor_required")
        case nil: .other("none")
        }
      }
    default: break
    }
  }

  private func fetch(_ call: Call, _ subject: FetchProvidersRequest.Subject, _ reply: Reply) {
    unary(call, AuthRPC.fetchProviders, FetchProvidersRequest(subject: subject), reply) { response in
      .ways(
        registered: response.registered, methods: response.signInMethods,
        held: response.pending.map { Held(providerID: $0.providerID, email: $0.email) })
    }
  }
}

extension Answer {
  fileprivate init(_ outcome: SignInResponse.Outcome) {
    switch outcome {
    case .session(let session): self = .session(SessionFacts(session))
    case .accountExists(let exists): self = .accountExists(email: exists.email, pendingToken: exists.pendingToken)
    case .secondFactorRequired(let required):
      self = .secondFactorRequired(pendingToken: required.pendingToken, factors: required.hints.map(FactorFacts.init))
    }
  }
}

extension Credential {
  fileprivate var message: API.Credential {
    switch self {
    case .password(let login):
      API.Credential(kind: .password(PasswordCredential(email: login.email, password: login.password)))
    case .provider(let token):
      API.Credential(
        kind: .providerToken(ProviderTokenCredential(providerID: token.providerID, idToken: token.idToken)))
    case .customToken(let token): API.Credential(kind: .customToken(CustomTokenCredential(token: token)))
    case .anonymous: API.Credential(kind: .anonymous(AnonymousCredential()))
    }
  }
}
