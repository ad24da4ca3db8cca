internal import API

extension CallSender {
  func sendAccount(_ call: Call, _ reply: Reply) {
    switch call {
    case .create(let login):
      let request = CreateRequest(email: login.email, password: login.password)
      unary(call, AccountRPC.create, request, reply) { response in
        switch response.outcome {
        case .session(let session): .session(SessionFacts(session))
        case .verificationSent: .other("verification_sent")
        case nil: .other("none")
        }
      }
    case .get(let idToken):
      unary(call, AccountRPC.get, GetRequest(idToken: idToken), reply) { .account(AccountFacts($0.account)) }
    case .delete(let idToken):
      unary(call, AccountRPC.delete, DeleteRequest(idToken: idToken), reply) { _ in .done }
    case .update(let idToken, let displayName):
      let request = UpdateRequest(
        idToken: idToken, account: Account(displayName: displayName), updateMask: FieldMask(paths: ["display_name"]))
      unary(call, AccountRPC.update, request, reply) { Answer(session: $0.session) }
    case .merge(let survivorIDToken, let otherIDToken):
      let request = MergeRequest(survivorIDToken: survivorIDToken, otherIDToken: otherIDToken)
      unary(call, AccountRPC.merge, request, reply) {
        .merged($0.session.map(SessionFacts.init), closedAccountID: $0.closedAccountID)
      }
    default: break
    }
  }

  func sendSession(_ call: Call, _ reply: Reply) {
    switch call {
    case .refresh(let refreshToken):
      unary(call, SessionRPC.refresh, RefreshRequest(refreshToken: refreshToken), reply) {
        Answer(session: $0.session)
      }
    case .signOut(let idToken):
      unary(call, SessionRPC.signOut, SignOutRequest(idToken: idToken), reply) { _ in .done }
    case .verify(let idToken):
      unary(call, SessionRPC.verifyIDToken, VerifyIdTokenRequest(idToken: idToken), reply) {
        .verdict(active: $0.active, accountID: $0.accountID, reason: $0.inactiveReason?.name ?? "")
      }
    case .signingKeys:
      unary(call, SessionRPC.getSigningKeys, GetSigningKeysRequest(), reply) {
        // Each key of the set has one `kty` (RFC 7517 4.1).
        .signingKeys(count: $0.jwksJSON.split(separator: "\"kty\"").count - 1)
      }
    case .revokeAll(let idToken):
      unary(call, SessionRPC.revokeAll, RevokeAllRequest(idToken: idToken), reply) { .closed(sessions: Int($0.closed)) }
    case .listSessions(let idToken):
      unary(call, SessionRPC.listSessions, ListSessionsRequest(idToken: idToken), reply) {
        .sessions($0.sessions.map { ListedSession(id: $0.sessionID, isCurrent: $0.current) })
      }
    default: break
    }
  }

  func sendFlow(_ call: Call, _ reply: Reply) {
    switch call {
    case .listProviders:
      unary(call, ProviderFlowRPC.listProviders, ListProvidersRequest(), reply) { .providers($0.providerIDs) }
    case .startFlow(let wish):
      let request = StartFlowRequest(providerID: wish.providerID, redirectURI: wish.redirectURI)
      unary(call, ProviderFlowRPC.startFlow, request, reply) { .flow(id: $0.flowID, url: $0.authorizationURL) }
    default: break
    }
  }
}
