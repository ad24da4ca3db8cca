internal import Client
internal import Messages

/// The generated stubs of every service, on one connection. Each is made when it is first called: a connection that is
/// there for its handshake needs few.
@safe
final class Stubs {
  private let connection: Connection
  private let target: Target
  private let scratch: Scratch
  private lazy var auth = stub(.auth, target.options)
  private lazy var account = stub(.account, target.options)
  private lazy var session = stub(.session, target.options)
  private lazy var providerFlow = stub(.providerFlow, target.options)
  private lazy var admin = stub(.admin, target.adminOptions)
  private lazy var health = stub(.health, target.options)

  init(on connection: Connection, _ target: Target, _ scratch: Scratch) {
    self.connection = connection
    self.target = target
    self.scratch = scratch
  }

  private func stub(_ service: Stub.Service, _ options: CallOptions) -> Stub {
    do {
      return try Stub(service, on: connection, options)
    } catch {
      preconditionFailure("API keys are looked at when they are read: \(error)")
    }
  }

  /// Begins a call; `reply` hears once what it came to, and must live until then.
  func send(_ call: Call, _ reply: Reply) {
    scratch.reset()
    let context = unsafe Unmanaged.passUnretained(reply).toOpaque()
    let stub = stub(call)
    reply.stub = stub
    let service = unsafe stub.service
    switch call {
    case .health:
      let request = unsafe scratch.form(grpc__health__v1__health_check_request__init)
      unsafe grpc__health__v1__health__check(service, request, onCheck, context)
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
    case .connect: preconditionFailure("a route connects, not a stub")
    case .create, .get, .delete: unsafe sendAccount(call, service, context)
    case .refresh, .signOut, .verify, .signingKeys: unsafe sendSession(call, service, context)
    case .listProviders, .startFlow: unsafe sendFlow(call, service, context)
    case .lookup, .createCustomToken: unsafe sendAdmin(call, service, context)
    }
  }

  private func stub(_ call: Call) -> Stub {
    switch call {
    case .connect, .health: health
    case .fetch, .fetchHeld, .signIn, .link, .unlink, .reauthenticate: auth
    case .create, .get, .delete: account
    case .refresh, .signOut, .verify, .signingKeys: session
    case .listProviders, .startFlow: providerFlow
    case .lookup, .createCustomToken: admin
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

  private func sendAccount(
    _ call: Call, _ service: Stub.ServicePointer, _ context: UnsafeMutableRawPointer
  ) {
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
    default: break
    }
  }

  private func sendSession(
    _ call: Call, _ service: Stub.ServicePointer, _ context: UnsafeMutableRawPointer
  ) {
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
    default: break
    }
  }

  private func sendFlow(
    _ call: Call, _ service: Stub.ServicePointer, _ context: UnsafeMutableRawPointer
  ) {
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

  private func sendAdmin(
    _ call: Call, _ service: Stub.ServicePointer, _ context: UnsafeMutableRawPointer
  ) {
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
    default: break
    }
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
