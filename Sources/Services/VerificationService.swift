internal import Identity
internal import Store
internal import API

/// latchkey.v1.VerificationService: sends codes and links by email and text message, and checks them.
package struct VerificationService: Sendable {
  private let shared: HandlerContext

  package init(_ shared: HandlerContext) { self.shared = shared }

  package var methods: [Method] {
    [
      sendPhoneCode, sendEmailLink, sendEmailCode, sendEmailVerification, sendPasswordReset, sendEmailChange, checkCode,
      confirmEmail, resetPassword,
    ]
  }

  private var sendPhoneCode: Method {
    .unary(VerificationRPC.sendPhoneCode) {
      request, message, context, _ in
      let call = try shared.facts(context, message, client: request.client, binding: request.binding)
      let order = try Shape.phoneCode(request)
      let send = SendPhoneCode(shared.environment)
      return .task {
        do {
          let sent = try await send(order, call)
          return SendPhoneCodeResponse(verificationID: sent.verificationID, expiresAtMillis: sent.expiresAt.millis)
        } catch {
          let attempt = FailedAttempt(
            "SendPhoneCode", method: SignInMethods.phone, subject: .phoneNumber(order.phoneNumber))
          throw shared.noted(error, attempt, call)
        }
      }
    }
  }

  private var sendEmailLink: Method {
    .unary(VerificationRPC.sendEmailLink) { request, message, context, _ in
      let call = try shared.facts(context, message, client: request.client, binding: request.binding)
      let email = try Shape.mailableEmail(request.email, "email", shared.environment.policy)
      let order = try Shape.mail(request.continueURI, request.locale)
      let send = SendEmailLink(shared.environment)
      return .task {
        do {
          return SendEmailLinkResponse(expiresAtMillis: try await send(email, order, call).millis)
        } catch {
          let attempt = FailedAttempt("SendEmailLink", method: SignInMethods.emailLink, subject: .email(email))
          throw shared.noted(error, attempt, call)
        }
      }
    }
  }

  private var sendEmailCode: Method {
    .unary(VerificationRPC.sendEmailCode) { request, message, context, _ in
      let call = try shared.facts(context, message, client: request.client, binding: request.binding)
      let order = try Shape.emailCode(request, shared.environment.policy)
      let send = SendEmailCode(shared.environment)
      return .task {
        do {
          let sent = try await send(order, call)
          return SendEmailCodeResponse(verificationID: sent.verificationID, expiresAtMillis: sent.expiresAt.millis)
        } catch {
          let subject: FailedAttempt.Subject = order.email.isEmpty ? .none : .email(order.email)
          throw shared.noted(
            error, FailedAttempt("SendEmailCode", method: SignInMethods.emailCode, subject: subject), call)
        }
      }
    }
  }

  private var sendEmailVerification: Method {
    .unary(VerificationRPC.sendEmailVerification) {
      request, message, context, _ in
      let call = try shared.facts(context, message, client: request.client)
      let idToken = try Shape.token(request.idToken, "id_token")
      let order = try Shape.mail(request.continueURI, request.locale)
      let send = SendEmailVerification(shared.environment)
      return .task {
        SendEmailVerificationResponse(expiresAtMillis: try await send(idToken: idToken, order, call).millis)
      }
    }
  }

  private var sendPasswordReset: Method {
    .unary(VerificationRPC.sendPasswordReset) {
      request, message, context, _ in
      let call = try shared.facts(context, message, client: request.client)
      let email = try Shape.mailableEmail(request.email, "email", shared.environment.policy)
      let order = try Shape.mail(request.continueURI, request.locale)
      let send = SendPasswordReset(shared.environment)
      return .task {
        do {
          return SendPasswordResetResponse(expiresAtMillis: try await send(email, order, call).millis)
        } catch {
          let attempt = FailedAttempt("SendPasswordReset", method: SignInMethods.password, subject: .email(email))
          throw shared.noted(error, attempt, call)
        }
      }
    }
  }

  private var sendEmailChange: Method {
    .unary(VerificationRPC.sendEmailChange) {
      request, message, context, _ in
      let call = try shared.facts(context, message, client: request.client)
      let idToken = try Shape.token(request.idToken, "id_token")
      let newEmail = try Shape.mailableEmail(request.newEmail, "new_email", shared.environment.policy)
      let order = try Shape.mail(request.continueURI, request.locale)
      let send = SendEmailChange(shared.environment)
      return .task {
        let expiresAt = try await send(idToken: idToken, newEmail: newEmail, order, call)
        return SendEmailChangeResponse(expiresAtMillis: expiresAt.millis)
      }
    }
  }

  private var checkCode: Method {
    .unary(VerificationRPC.checkCode, isLookUp: true) {
      request, message, context, arena in
      let call = try shared.facts(context, message)
      let reading = try CheckCode(shared.environment, code: try Shape.code(request.code, "code"), call)
      return try shared.read(reading, arena) { check in
        CheckCodeResponse(
          mode: API.CodeMode(check.mode), email: check.email, expiresAtMillis: check.expiresAt.millis)
      }
    }
  }

  private var confirmEmail: Method {
    .unary(VerificationRPC.confirmEmail) { request, message, context, _ in
      let call = try shared.facts(
        context, message, client: request.client, binding: request.binding,
        idempotencyKey: IdempotencyKey(request.idempotencyKey, of: ConfirmEmailRequest.self))
      let proof = try Shape.emailProof(request.code, request.verificationID)
      let idToken = try Shape.text(request.idToken, "id_token", bytesMax: Shape.tokenBytesMax)
      let confirm = ConfirmEmail(shared.environment)
      return .task {
        do {
          let confirmed = try await confirm(proof, idToken: idToken, call)
          return ConfirmEmailResponse(session: confirmed.session.map(API.Session.init), email: confirmed.email)
        } catch {
          throw shared.noted(error, FailedAttempt("ConfirmEmail"), call)
        }
      }
    }
  }

  private var resetPassword: Method {
    .unary(VerificationRPC.resetPassword) { request, message, context, _ in
      let call = try shared.facts(
        context, message, client: request.client, binding: request.binding,
        idempotencyKey: IdempotencyKey(request.idempotencyKey, of: ResetPasswordRequest.self))
      let proof = try Shape.emailProof(request.code, request.verificationID)
      let password = try Shape.password(request.newPassword, "new_password")
      let claimAddress = request.claimAddress
      let reset = ResetPassword(shared.environment)
      return .task {
        do {
          let answer = try await reset(proof, newPassword: password, claimAddress: claimAddress, call)
          return ResetPasswordResponse(
            email: answer.email, revokedProviderIDs: answer.revokedProviderIDs, isNewAccount: answer.isNewAccount)
        } catch {
          throw shared.noted(error, FailedAttempt("ResetPassword", method: SignInMethods.password), call)
        }
      }
    }
  }
}

extension Shape {
  static func code(_ code: String, _ field: String) throws -> String {
    try required(code, field, bytesMax: handleBytesMax)
  }

  /// - Parameter verificationID: empty for the code of a link.
  static func emailProof(_ code: String, _ verificationID: String) throws -> EmailProof {
    EmailProof(
      code: try Shape.code(code, "code"),
      verificationID: try text(verificationID, "verification_id", bytesMax: handleBytesMax))
  }

  /// Returns nil for the first call of a sign-up.
  static func signUpProof(_ code: String, _ verificationID: String) throws -> EmailProof? {
    code.isEmpty && verificationID.isEmpty ? nil : try emailProof(code, verificationID)
  }

  static func emailCode(
    _ request: API.SendEmailCodeRequest, _ policy: Policy
  ) throws -> Identity.SendEmailCodeRequest {
    let purpose = try emailCodePurpose(request.purpose)
    let continueURI = try text(request.continueURI, "continue_uri", bytesMax: urlBytesMax)
    guard purpose != .changeEmail || !continueURI.isEmpty else {
      throw invalid("continue_uri", "Set this field: the link that reverts the change opens it.")
    }
    guard purpose.needsSession || request.idToken.isEmpty else {
      throw invalid("id_token", "Omit id_token for this purpose.")
    }
    guard !purpose.isForOwnAddress || request.email.isEmpty else {
      throw invalid("email", "Omit email: the code goes to the account's own address.")
    }
    return Identity.SendEmailCodeRequest(
      email: purpose.isForOwnAddress ? "" : try mailableEmail(request.email, "email", policy), purpose: purpose,
      idToken: purpose.needsSession ? try token(request.idToken, "id_token") : "",
      mail: MailOrder(continueURI: continueURI, locale: locale(request.locale)))
  }

  private static func emailCodePurpose(_ purpose: API.EmailCodePurpose?) throws -> Identity.EmailCodePurpose {
    switch purpose {
    case .unspecified, .signIn: .signIn
    case .link: .link
    case .reauthenticate: .reauthenticate
    case .signUp: .signUp
    case .verifyEmail: .verifyEmail
    case .resetPassword: .resetPassword
    case .changeEmail: .changeEmail
    case nil: throw invalid("purpose", "Set purpose to a value of EmailCodePurpose.")
    }
  }

  static func mail(_ continueURI: String, _ locale: String) throws -> MailOrder {
    MailOrder(
      continueURI: try required(continueURI, "continue_uri", bytesMax: urlBytesMax), locale: Shape.locale(locale))
  }

  static func phoneCode(_ request: API.SendPhoneCodeRequest) throws -> Identity.SendPhoneCodeRequest {
    let purpose = try purpose(request.purpose, idToken: request.idToken)
    return Identity.SendPhoneCodeRequest(
      phoneNumber: try phoneNumber(request.phoneNumber, "phone_number"), purpose: purpose,
      idToken: try text(request.idToken, "id_token", bytesMax: tokenBytesMax), locale: locale(request.locale))
  }
}
