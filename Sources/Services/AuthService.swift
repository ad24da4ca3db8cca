internal import Identity
internal import API
internal import Protobuf

/// latchkey.v1.AuthService: SignIn, Link, Unlink, Reauthenticate and FetchProviders.
package struct AuthService: Sendable {
  private let shared: HandlerContext

  package init(_ shared: HandlerContext) { self.shared = shared }

  package var methods: [Method] { [signIn, link, unlink, reauthenticate, fetchProviders] }

  private var signIn: Method {
    .unary(AuthRPC.signIn) { request, message, context, _ in
      let call = try shared.facts(
        context, message, client: request.client, binding: request.binding,
        idempotencyKey: IdempotencyKey(
          request.idempotencyKey, of: API.SignInRequest.self,
          isOfGuest: request.credential?.kind?.isAnonymous ?? false))
      let credential = try Shape.credential(request.credential)
      let order = Identity.SignInRequest(
        credential: credential,
        pendingToken: try Shape.text(request.pendingToken, "pending_token", bytesMax: Shape.handleBytesMax),
        existingOnly: request.existingOnly, claimAddress: request.claimAddress)
      context.notes?.presents(credential)
      let signIn = SignIn(shared.environment)
      return .task {
        do {
          return SignInResponse.of(try await signIn(order, call), call.notes)
        } catch {
          throw shared.noted(error, FailedAttempt("SignIn", credential), call)
        }
      }
    }
  }

  private var link: Method {
    .unary(AuthRPC.link) { request, message, context, _ in
      let call = try shared.facts(
        context, message, client: request.client, binding: request.binding,
        idempotencyKey: IdempotencyKey(request.idempotencyKey, of: API.LinkRequest.self))
      let idToken = try Shape.token(request.idToken, "id_token")
      let credential = try Shape.credential(request.credential, setsPassword: true)
      context.notes?.presents(credential)
      let link = Link(shared.environment)
      return .task {
        let answer = try await link(Identity.LinkRequest(idToken: idToken, credential: credential), call)
        call.notes?.ended(answer.outcome)
        return switch answer {
        case .session(let grant, let alreadyLinked):
          LinkResponse(outcome: .session(API.Session(grant)), alreadyLinked: alreadyLinked)
        case .credentialInUse(let conflict): LinkResponse(outcome: .credentialInUse(.init(conflict)))
        case .secondFactorRequired(let required):
          LinkResponse(outcome: .secondFactorRequired(.init(required)))
        }
      }
    }
  }

  private var unlink: Method {
    .unary(AuthRPC.unlink) { request, message, context, _ in
      let call = try shared.facts(
        context, message, client: request.client,
        idempotencyKey: IdempotencyKey(request.idempotencyKey, of: API.UnlinkRequest.self))
      let order = Identity.UnlinkRequest(
        idToken: try Shape.token(request.idToken, "id_token"),
        providerID: try Shape.required(request.providerID, "provider_id", bytesMax: Shape.providerIDBytesMax),
        subject: try Shape.text(request.subject, "subject", bytesMax: Shape.subjectBytesMax))
      let unlink = Unlink(shared.environment)
      return .task { UnlinkResponse(session: API.Session(try await unlink(order, call))) }
    }
  }

  private var reauthenticate: Method {
    .unary(AuthRPC.reauthenticate) { request, message, context, _ in
      let call = try shared.facts(context, message, client: request.client, binding: request.binding)
      let idToken = try Shape.token(request.idToken, "id_token")
      let credential = try Shape.credential(request.credential)
      context.notes?.presents(credential)
      let reauthenticate = Reauthenticate(shared.environment)
      return .task {
        let order = Identity.ReauthenticateRequest(idToken: idToken, credential: credential)
        do {
          let answer = try await reauthenticate(order, call)
          call.notes?.ended(answer.outcome)
          return switch answer {
          case .session(let grant): ReauthenticateResponse(outcome: .session(API.Session(grant)))
          case .secondFactorRequired(let required):
            ReauthenticateResponse(outcome: .secondFactorRequired(.init(required)))
          }
        } catch {
          throw shared.noted(error, FailedAttempt("Reauthenticate", credential), call)
        }
      }
    }
  }

  private var fetchProviders: Method {
    .unary(AuthRPC.fetchProviders, isLookUp: true) {
      request, message, context, arena in
      let call = try shared.facts(context, message, client: request.client, binding: request.binding)
      switch request.subject {
      case .email(let address):
        let fetch = FetchByEmail(shared.environment, try Shape.email(address, "email"), call)
        if let answer = try fetch.now() { return .answer(FetchProvidersResponse(answer).encode(arena: arena)) }
        return .task { FetchProvidersResponse(try await fetch()) }
      case .pendingToken(let pendingToken):
        let reading = try FetchByPendingToken(
          shared.environment, try Shape.required(pendingToken, "pending_token", bytesMax: Shape.handleBytesMax), call)
        let mailMethods = MailMethods(shared.environment)
        guard mailMethods.mayApply(to: call) else {
          return try shared.read(reading, arena) { FetchProvidersResponse($0) }
        }
        return .task { FetchProvidersResponse(try await mailMethods(reading, call)) }
      case nil: throw Shape.invalid("subject", "Set email or pending_token.")
      }
    }
  }
}

extension API.Credential.Kind {
  fileprivate var isAnonymous: Bool { if case .anonymous = self { true } else { false } }
}

extension SignInResponse {
  /// Converts the result of a sign-in. Not inlined and boxed, so that the response takes no space in the call's task.
  @inline(never)
  fileprivate static func of(_ answer: SignInAnswer, _ notes: CallNotes?) -> any ProtobufEncodable {
    notes?.ended(answer.outcome)
    return switch answer {
    case .session(let grant): SignInResponse(outcome: .session(API.Session(grant)))
    case .accountExists(let conflict): SignInResponse(outcome: .accountExists(.init(conflict)))
    case .secondFactorRequired(let required): SignInResponse(outcome: .secondFactorRequired(.init(required)))
    }
  }
}
