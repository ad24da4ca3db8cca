internal import API
internal import Client

/// A sender of calls over one connection.
final class CallSender {
  private let connection: Connection
  private let target: Target
  /// Request headers by method, encoded at the first call.
  private var heads = [CallHead?](repeating: nil, count: Method.allCases.count)

  init(on connection: Connection, _ target: Target) {
    self.connection = connection
    self.target = target
  }

  /// Begins a call. `reply` receives the result.
  func send(_ call: Call, _ reply: Reply) {
    switch call.method {
    case .handshake: preconditionFailure("a handshake is made by Route, not by CallSender")
    case .check, .watchHealth: sendHealth(call, reply)
    case .signIn, .link, .unlink, .reauthenticate, .fetchProviders: sendAuth(call, reply)
    case .create, .get, .update, .delete, .merge: sendAccount(call, reply)
    case .refresh, .signOut, .revokeAll, .listSessions, .verifyIDToken, .getSigningKeys: sendSession(call, reply)
    case .listProviders, .startFlow: sendFlow(call, reply)
    case .startSecondFactor, .finishSecondFactor, .startEnrollment, .finishEnrollment, .withdraw:
      sendSecondFactor(call, reply)
    case .sendPhoneCode, .sendEmailLink, .sendEmailVerification, .sendPasswordReset, .sendEmailChange, .checkCode,
      .confirmEmail, .resetPassword:
      sendVerification(call, reply)
    case .lookup, .list, .setDisabled, .setCustomClaims, .revokeSessions, .deleteAccount, .removeSecondFactors,
      .unlinkProvider, .createCustomToken:
      sendAdmin(call, reply)
    case .importAccounts, .exportAccounts, .watchEvents: sendStream(call, reply)
    }
  }

  func unary<Request, Response>(
    _ call: Call, _ rpc: RPC<Request, Response>, _ request: Request, _ reply: Reply,
    _ read: @escaping (Response) -> Answer
  ) {
    _ = connection.begin(head(call, rpc), request) { (result: Result<Response, CallStatus>) in
      reply.receive(result.map(read))
    }
  }

  /// Begins a call with a response stream. Cancels the call when it has received enough, and waits for its end.
  func stream<Request, Response>(
    _ call: Call, _ rpc: RPC<Request, Response>, _ request: Request, _ reply: Reply,
    _ read: @escaping (Response) -> Answer
  ) {
    var gathering = Gathering(call.wish)
    var begun: CallID?
    let take = { [connection] (message: Response) in
      guard !gathering.isEnough else { return }
      gathering.take(read(message))
      if gathering.isEnough, let begun { connection.cancel(begun) }
    }
    begun = connection.begin(head(call, rpc), request, onMessage: take) { status in
      reply.receive(gathering.isEnough || status.isOK ? .success(gathering.whole) : .failure(status))
    }
  }

  private func head<Request, Response>(_ call: Call, _ rpc: RPC<Request, Response>) -> CallHead {
    if let head = heads[call.method.rawValue] { return head }
    let options = call.method.isOfAdministrator ? target.adminOptions : target.options
    do {
      let head = try CallHead(path: rpc.path, connection.endpoint, options)
      heads[call.method.rawValue] = head
      return head
    } catch {
      preconditionFailure("API keys are validated when they are read: \(error)")
    }
  }
}

/// The receiver of call results, for one call at a time.
final class Reply {
  /// The callback. Set it once, before the first call.
  var receive: (Result<Answer, CallStatus>) -> Void = { _ in }
}

extension Method {
  fileprivate var isOfAdministrator: Bool { name.hasPrefix("AdminService/") || name.hasPrefix("EventService/") }
}
