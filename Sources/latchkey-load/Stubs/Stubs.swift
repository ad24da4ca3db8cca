internal import Client
internal import Messages

/// The generated stubs of every service, on one connection. Each is made when it is first called: a connection that is
/// there for its handshake needs few.
@safe
final class Stubs {
  private let connection: Connection
  private let target: Target
  let scratch: Scratch
  private lazy var auth = stub(.auth, target.options)
  private lazy var account = stub(.account, target.options)
  private lazy var session = stub(.session, target.options)
  private lazy var providerFlow = stub(.providerFlow, target.options)
  private lazy var secondFactor = stub(.secondFactor, target.options)
  private lazy var verification = stub(.verification, target.options)
  private lazy var admin = stub(.admin, target.adminOptions)
  private lazy var event = stub(.event, target.adminOptions)
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
    func by(_ stub: Stub) -> Stub.ServicePointer {
      reply.begin(stub, Gathering(call.wish))
      return unsafe stub.service
    }
    switch call.method {
    case .handshake: preconditionFailure("a route connects, not a stub")
    case .check, .watchHealth: unsafe sendHealth(call, by(health), context)
    case .signIn, .link, .unlink, .reauthenticate, .fetchProviders: unsafe sendAuth(call, by(auth), context)
    case .create, .get, .update, .delete, .merge: unsafe sendAccount(call, by(account), context)
    case .refresh, .signOut, .revokeAll, .listSessions, .verifyIDToken, .getSigningKeys:
      unsafe sendSession(call, by(session), context)
    case .listProviders, .startFlow: unsafe sendFlow(call, by(providerFlow), context)
    case .startSecondFactor, .finishSecondFactor, .startEnrollment, .finishEnrollment, .withdraw:
      unsafe sendSecondFactor(call, by(secondFactor), context)
    case .sendPhoneCode, .sendEmailLink, .sendEmailVerification, .sendPasswordReset, .sendEmailChange, .checkCode,
      .confirmEmail, .resetPassword:
      unsafe sendVerification(call, by(verification), context)
    case .lookup, .list, .setDisabled, .setCustomClaims, .revokeSessions, .deleteAccount, .removeSecondFactors,
      .unlinkProvider, .createCustomToken, .importAccounts, .exportAccounts:
      unsafe sendAdmin(call, by(admin), context)
    case .watchEvents: unsafe sendEvent(call, by(event), context)
    }
    reply.hasBegun()
  }
}
