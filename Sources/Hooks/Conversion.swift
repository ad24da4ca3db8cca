internal import API
internal import Client
internal import HookMessages
internal import Identity
internal import Protobuf
internal import Store

// Conversion of questions to messages of proto/latchkey/hooks, and of answers back.

extension HookJob {
  /// Makes the call for a question.
  static func of(_ question: HookQuestion, _ call: CallFacts, _ order: HookOrder, _ end: @escaping End) -> HookJob {
    let hooked = HookedCall(call)
    switch question {
    case .create(let login):
      let request = BeforeCreateRequest(
        call: hooked, account: .init(login.account), login: .init(login))
      return job(HookRPC.beforeCreate, request, order, end) { response throws(HookFault) in
        switch response.answer {
        case .allow(let allow): .allow(try HookChanges(allow))
        case .deny(let deny): .deny(HookDenial(deny))
        case nil: .allow(HookChanges())
        }
      }
    case .signIn(let login, let isNewAccount):
      let request = BeforeSignInRequest(
        call: hooked, account: .init(login.account), login: .init(login), isNewAccount: isNewAccount)
      return job(HookRPC.beforeSignIn, request, order, end) { response throws(HookFault) in
        switch response.answer {
        case .allow(let allow): .allow(try HookChanges(allow))
        case .deny(let deny): .deny(HookDenial(deny))
        case nil: .allow(HookChanges())
        }
      }
    case .send(let message):
      return job(HookRPC.beforeSend, BeforeSendRequest(hooked, message), order, end) { response in
        response.deny.map { .deny(HookDenial($0)) } ?? .allow(HookChanges())
      }
    }
  }

  private static func job<Request, Response>(
    _ rpc: RPC<Request, Response>, _ request: Request, _ order: HookOrder, _ end: @escaping End,
    _ read: @escaping @Sendable (Response) throws(HookFault) -> HookAnswer
  ) -> HookJob {
    HookJob(path: rpc.path, order: order, end: end) { connection, head, completion in
      _ = connection.begin(head, request) { (result: Result<Response, CallStatus>) in
        completion(result.map { response in Result { () throws(HookFault) in try read(response) } })
      }
    }
  }
}

extension HookedCall {
  fileprivate init(_ call: CallFacts) {
    self.init(
      method: String(call.path.dropFirst()), caller: call.caller.text,
      requestID: call.origin.first { $0.key == "request_id" }?.value ?? "", ipAddress: call.ipAddress,
      userAgent: call.userAgent, deviceID: call.deviceID)
  }
}

extension HookMessages.HookedAccount {
  fileprivate init(_ account: Identity.HookedAccount) {
    self.init(
      accountID: account.id, email: account.email ?? "", emailVerified: account.emailVerified,
      phoneNumber: account.phoneNumber ?? "", displayName: account.displayName, photoURL: account.photoURL,
      anonymous: account.anonymous, customClaimsJSON: account.customClaimsJSON,
      identities: account.identities.map {
        HookedIdentity(providerID: $0.key.providerID, subject: $0.key.subject, email: $0.email ?? "")
      },
      createdAtMillis: account.createdAt?.millis)
  }
}

extension HookMessages.HookedLogin {
  fileprivate init(_ login: Identity.HookedLogin) {
    self.init(
      providerID: login.providerID, methods: login.methods, secondFactor: login.secondFactor ?? "",
      profileJSON: login.userInfo?.profileJSON ?? "", username: login.userInfo?.username ?? "",
      sessionClaimsJSON: login.sessionClaimsJSON)
  }
}

extension BeforeSendRequest {
  fileprivate init(_ call: HookedCall, _ message: HookedMessage) {
    self.init(call: call, kind: message.kind.rawValue, locale: message.locale)
    switch message.recipient {
    case .email(let email): self.email = email
    case .phoneNumber(let number): phoneNumber = number
    }
  }
}

extension HookChanges {
  /// Reads the fields that the mask lists. An unknown one is an error: the hook expects a change that would not happen.
  fileprivate init(_ allow: Allow) throws(HookFault) {
    self.init()
    sessionClaimsJSON = allow.sessionClaimsJSON
    for path in allow.updateMask?.paths ?? [] {
      switch path {
      case "display_name": displayName = allow.displayName
      case "photo_url": photoURL = allow.photoURL
      case "disabled": disables = allow.disabled
      case "email_verified": emailVerified = allow.emailVerified
      case "custom_claims_json": customClaimsJSON = allow.customClaimsJSON
      default: throw HookFault.invalid("update_mask lists an unknown field")
      }
    }
  }
}

extension HookDenial {
  fileprivate init(_ deny: Deny) { self.init(code: deny.code, reason: deny.reason) }
}
