internal import Identity
internal import Store
internal import API

/// latchkey.v1.SecondFactorService: manages second factors and finishes calls that require one.
package struct SecondFactorService: Sendable {
  private let shared: HandlerContext

  package init(_ shared: HandlerContext) { self.shared = shared }

  package var methods: [Method] {
    [startSecondFactor, finishSecondFactor, startEnrollment, finishEnrollment, withdraw]
  }

  private var startSecondFactor: Method {
    .unary(SecondFactorRPC.startSecondFactor) {
      request, message, context, _ in
      let call = try shared.facts(context, message, client: request.client, binding: request.binding)
      let handle = try Shape.required(request.pendingToken, "pending_token", bytesMax: Shape.handleBytesMax)
      let factorID = try Shape.required(request.factorID, "factor_id", bytesMax: Shape.factorIDBytesMax)
      let locale = Shape.locale(request.locale)
      let start = StartSecondFactor(shared.environment)
      return .task {
        do {
          let started = try await start(handle: handle, factorID: factorID, locale: locale, call)
          return StartSecondFactorResponse(
            verificationID: started.verificationID, expiresAtMillis: started.expiresAt.millis,
            passkeyOptionsJSON: started.optionsJSON)
        } catch {
          throw shared.noted(error, FailedAttempt("StartSecondFactor"), call)
        }
      }
    }
  }

  private var finishSecondFactor: Method {
    .unary(SecondFactorRPC.finishSecondFactor) {
      request, message, context, _ in
      let call = try shared.facts(
        context, message, client: request.client, binding: request.binding,
        idempotencyKey: IdempotencyKey(request.idempotencyKey, of: API.FinishSecondFactorRequest.self))
      let order = Identity.FinishSecondFactorRequest(
        handle: try Shape.required(request.pendingToken, "pending_token", bytesMax: Shape.handleBytesMax),
        factorID: try Shape.required(request.factorID, "factor_id", bytesMax: Shape.factorIDBytesMax),
        verificationID: try Shape.text(request.verificationID, "verification_id", bytesMax: Shape.handleBytesMax),
        code: request.passkeyCredentialJSON.isEmpty
          ? try Shape.required(request.code, "code", bytesMax: Shape.codeBytesMax) : "",
        credentialJSON: try Shape.text(
          request.passkeyCredentialJSON, "passkey_credential_json", bytesMax: Shape.tokenBytesMax))
      context.notes?.presents(CallNotes.unknown)
      let finish = FinishSecondFactor(shared.environment)
      return .task {
        do {
          let answer = try await finish(order, call)
          call.notes?.ended(answer.outcome)
          return switch answer {
          case .session(let grant, let alreadyLinked):
            FinishSecondFactorResponse(outcome: .session(API.Session(grant)), alreadyLinked: alreadyLinked)
          case .accountExists(let conflict): FinishSecondFactorResponse(outcome: .accountExists(.init(conflict)))
          case .credentialInUse(let conflict): FinishSecondFactorResponse(outcome: .credentialInUse(.init(conflict)))
          }
        } catch {
          throw shared.noted(error, FailedAttempt("FinishSecondFactor"), call)
        }
      }
    }
  }

  private var startEnrollment: Method {
    .unary(SecondFactorRPC.startEnrollment) {
      request, message, context, _ in
      let call = try shared.facts(context, message, client: request.client)
      let kind = try Shape.factorKind(request.kind)
      let order = Identity.StartEnrollmentRequest(
        idToken: try Shape.token(request.idToken, "id_token"), kind: kind,
        phoneNumber: kind == .phone ? try Shape.phoneNumber(request.phoneNumber, "phone_number") : nil,
        displayName: try Shape.shown(request.displayName, "display_name", bytesMax: Shape.displayNameBytesMax),
        locale: Shape.locale(request.locale),
        relyingPartyID: try Shape.text(request.rpID, "rp_id", bytesMax: Shape.relyingPartyIDBytesMax))
      let start = StartEnrollment(shared.environment)
      return .task {
        let started = try await start(order, call)
        return StartEnrollmentResponse(
          enrollmentID: started.enrollmentID, totpSecret: started.totpSecret, totpURI: started.totpURI,
          expiresAtMillis: started.expiresAt.millis, passkeyOptionsJSON: started.optionsJSON)
      }
    }
  }

  private var finishEnrollment: Method {
    .unary(SecondFactorRPC.finishEnrollment) {
      request, message, context, _ in
      let call = try shared.facts(
        context, message, client: request.client,
        idempotencyKey: IdempotencyKey(request.idempotencyKey, of: API.FinishEnrollmentRequest.self))
      let order = Identity.FinishEnrollmentRequest(
        idToken: try Shape.token(request.idToken, "id_token"),
        enrollmentID: try Shape.required(request.enrollmentID, "enrollment_id", bytesMax: Shape.handleBytesMax),
        code: try Shape.text(request.code, "code", bytesMax: Shape.codeBytesMax),
        credentialJSON: try Shape.text(
          request.passkeyCredentialJSON, "passkey_credential_json", bytesMax: Shape.tokenBytesMax))
      let finish = FinishEnrollment(shared.environment)
      return .task {
        let finished = try await finish(order, call)
        return FinishEnrollmentResponse(session: API.Session(finished.grant), recoveryCodes: finished.recoveryCodes)
      }
    }
  }

  private var withdraw: Method {
    .unary(SecondFactorRPC.withdraw) { request, message, context, _ in
      let call = try shared.facts(
        context, message, client: request.client,
        idempotencyKey: IdempotencyKey(request.idempotencyKey, of: API.WithdrawRequest.self))
      let order = Identity.WithdrawRequest(
        idToken: try Shape.token(request.idToken, "id_token"),
        factorID: try Shape.required(request.factorID, "factor_id", bytesMax: Shape.factorIDBytesMax))
      let withdraw = Withdraw(shared.environment)
      return .task { WithdrawResponse(session: API.Session(try await withdraw(order, call))) }
    }
  }
}
