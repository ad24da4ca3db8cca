internal import Identity
internal import Store
internal import API

/// latchkey.v1.AccountService: creates, reads, updates, merges and deletes accounts.
package struct AccountService: Sendable {
  private let shared: HandlerContext

  package init(_ shared: HandlerContext) { self.shared = shared }

  package var methods: [Method] { [create, get, update, delete, merge] }

  private var create: Method {
    .unary(AccountRPC.create) { request, message, context, _ in
      let call = try shared.facts(
        context, message, client: request.client, binding: request.binding,
        idempotencyKey: IdempotencyKey(request.idempotencyKey, of: CreateRequest.self))
      let order = Identity.CreateAccountRequest(
        email: try Shape.mailableEmail(request.email, "email", shared.environment.policy),
        password: try Shape.password(request.password, "password"),
        displayName: try Shape.shown(request.displayName, "display_name", bytesMax: Shape.displayNameBytesMax),
        photoURL: try Shape.webURL(request.photoURL, "photo_url"),
        mail: MailOrder(
          continueURI: try Shape.text(request.continueURI, "continue_uri", bytesMax: Shape.urlBytesMax),
          locale: Shape.locale(request.locale)),
        proof: try Shape.signUpProof(request.code, request.verificationID))
      context.notes?.presents(SignInMethods.password)
      let create = CreateAccount(shared.environment)
      return .task {
        do {
          let answer = try await create(order, call)
          call.notes?.ended(answer.outcome)
          return switch answer {
          case .session(let grant): CreateResponse(outcome: .session(API.Session(grant)))
          case .verificationSent(let expiresAt):
            CreateResponse(outcome: .verificationSent(VerificationSent(expiresAtMillis: expiresAt.millis)))
          }
        } catch {
          let attempt = FailedAttempt("Create", method: SignInMethods.password, subject: .email(order.email))
          throw shared.noted(error, attempt, call)
        }
      }
    }
  }

  private var get: Method {
    .unary(AccountRPC.get, isLookUp: true) { request, message, context, arena in
      let call = try shared.facts(context, message)
      let reading = try GetAccount(
        shared.environment, idToken: try Shape.token(request.idToken, "id_token"), call)
      return try shared.read(reading, arena) { GetResponse(account: API.Account($0)) }
    }
  }

  private var update: Method {
    .unary(AccountRPC.update) { request, message, context, _ in
      let call = try shared.facts(
        context, message, client: request.client,
        idempotencyKey: IdempotencyKey(request.idempotencyKey, of: UpdateRequest.self))
      let order = try Shape.update(request, shared.environment.policy)
      let update = UpdateAccount(shared.environment)
      return .task { UpdateResponse(session: API.Session(try await update(order, call))) }
    }
  }

  private var merge: Method {
    .unary(AccountRPC.merge) { request, message, context, _ in
      let call = try shared.facts(
        context, message, client: request.client,
        idempotencyKey: IdempotencyKey(request.idempotencyKey, of: API.MergeRequest.self))
      let order = try Shape.merge(request)
      let merge = MergeAccounts(shared.environment)
      return .task { MergeResponse(try await merge(order, call)) }
    }
  }

  private var delete: Method {
    .unary(AccountRPC.delete) { request, message, context, _ in
      let call = try shared.facts(
        context, message, client: request.client,
        idempotencyKey: IdempotencyKey(request.idempotencyKey, of: DeleteRequest.self))
      let idToken = try Shape.token(request.idToken, "id_token")
      guard request.tokensToRevoke.count <= Shape.tokensToRevokeMax else {
        throw Shape.invalid("tokens_to_revoke", "Send at most \(Shape.tokensToRevokeMax) tokens.")
      }
      let tokens = try request.tokensToRevoke.map { try Shape.tokenToRevoke($0, "tokens_to_revoke") }
      let delete = DeleteAccount(shared.environment)
      return .task {
        DeleteResponse(revocations: try await delete(idToken: idToken, revoking: tokens, call).map { .init($0) })
      }
    }
  }
}

extension API.TokenRevocation {
  fileprivate init(_ revocation: Identity.TokenRevocation) {
    self.init(
      providerID: revocation.providerID, revoked: revocation.failure == nil,
      reason: revocation.failure.map { ErrorReason($0.reason) } ?? .unspecified,
      message: revocation.failure?.hint ?? "")
  }
}
