internal import Identity
internal import Store
internal import Wire

/// latchkey.v1.VerificationService: codes and links by mail and text message.
package struct VerificationService: Sendable {
  package static let name = "latchkey.v1.VerificationService"
  private let desk: Desk

  package init(_ desk: Desk) { self.desk = desk }

  package var methods: [Method] {
    [
      sendPhoneCode, sendEmailLink, sendEmailVerification, sendPasswordReset, sendEmailChange, checkCode, confirmEmail,
      resetPassword,
    ]
  }

  private var sendPhoneCode: Method {
    .unary("/\(VerificationService.name)/SendPhoneCode", Wire.SendPhoneCodeRequest.self) {
      request, message, context, _ in
      let call = try desk.facts(context, message, client: request.client, binding: request.binding)
      let order = try Shape.phoneCode(request)
      let send = SendPhoneCode(desk.environment)
      return .task {
        let sent = try await send(order, call)
        return SendPhoneCodeResponse(verificationID: sent.verificationID, expiresAtMillis: sent.expiresAt.millis)
      }
    }
  }

  private var sendEmailLink: Method {
    .unary("/\(VerificationService.name)/SendEmailLink", SendEmailLinkRequest.self) { request, message, context, _ in
      let call = try desk.facts(context, message, client: request.client, binding: request.binding)
      let email = try Shape.email(request.email, "email")
      let order = try Shape.mail(request.continueURI, request.locale)
      let send = SendEmailLink(desk.environment)
      return .task { SendEmailLinkResponse(expiresAtMillis: try await send(email, order, call).millis) }
    }
  }

  private var sendEmailVerification: Method {
    .unary("/\(VerificationService.name)/SendEmailVerification", SendEmailVerificationRequest.self) {
      request, message, context, _ in
      let call = try desk.facts(context, message, client: request.client)
      let idToken = try Shape.token(request.idToken, "id_token")
      let order = try Shape.mail(request.continueURI, request.locale)
      let send = SendEmailVerification(desk.environment)
      return .task {
        SendEmailVerificationResponse(expiresAtMillis: try await send(idToken: idToken, order, call).millis)
      }
    }
  }

  private var sendPasswordReset: Method {
    .unary("/\(VerificationService.name)/SendPasswordReset", SendPasswordResetRequest.self) {
      request, message, context, _ in
      let call = try desk.facts(context, message, client: request.client)
      let email = try Shape.email(request.email, "email")
      let order = try Shape.mail(request.continueURI, request.locale)
      let send = SendPasswordReset(desk.environment)
      return .task { SendPasswordResetResponse(expiresAtMillis: try await send(email, order, call).millis) }
    }
  }

  private var sendEmailChange: Method {
    .unary("/\(VerificationService.name)/SendEmailChange", SendEmailChangeRequest.self) {
      request, message, context, _ in
      let call = try desk.facts(context, message, client: request.client)
      let idToken = try Shape.token(request.idToken, "id_token")
      let newEmail = try Shape.email(request.newEmail, "new_email")
      let order = try Shape.mail(request.continueURI, request.locale)
      let send = SendEmailChange(desk.environment)
      return .task {
        let expiresAt = try await send(idToken: idToken, newEmail: newEmail, order, call)
        return SendEmailChangeResponse(expiresAtMillis: expiresAt.millis)
      }
    }
  }

  private var checkCode: Method {
    .unary("/\(VerificationService.name)/CheckCode", CheckCodeRequest.self, isLookUp: true) {
      request, message, context, arena in
      let call = try desk.facts(context, message)
      let reading = try CheckCode(desk.environment, code: try Shape.code(request.code, "code"), call)
      return try desk.read(reading, arena) { check in
        CheckCodeResponse(
          mode: check.mode.rawValue, email: check.email, expiresAtMillis: check.expiresAt.millis)
      }
    }
  }

  private var confirmEmail: Method {
    .unary("/\(VerificationService.name)/ConfirmEmail", ConfirmEmailRequest.self) { request, message, context, _ in
      let call = try desk.facts(context, message, client: request.client)
      let code = try Shape.code(request.code, "code")
      let idToken = try Shape.text(request.idToken, "id_token", bytesMax: Shape.tokenBytesMax)
      let confirm = ConfirmEmail(desk.environment)
      return .task {
        let confirmed = try await confirm(code: code, idToken: idToken, call)
        return ConfirmEmailResponse(session: confirmed.session.map(Wire.Session.init), email: confirmed.email)
      }
    }
  }

  private var resetPassword: Method {
    .unary("/\(VerificationService.name)/ResetPassword", ResetPasswordRequest.self) { request, message, context, _ in
      let call = try desk.facts(context, message, client: request.client)
      let code = try Shape.code(request.code, "code")
      let password = try Shape.password(request.newPassword, "new_password")
      let claimAddress = request.claimAddress
      let reset = ResetPassword(desk.environment)
      return .task {
        let answer = try await reset(code: code, newPassword: password, claimAddress: claimAddress, call)
        return ResetPasswordResponse(
          email: answer.email, revokedProviderIDs: answer.revokedProviderIDs, isNewAccount: answer.isNewAccount)
      }
    }
  }
}

extension Shape {
  /// The longest tags in use have 35 (RFC 5646, 4.4.1).
  static let localeBytesMax = 35

  static func code(_ code: String, _ field: String) throws -> String {
    try required(code, field, bytesMax: handleBytesMax)
  }

  static func locale(_ locale: String) throws -> String {
    _ = try text(locale, "locale", bytesMax: localeBytesMax)
    let isTag = locale.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
        true
      default: false
      }
    }
    guard isTag else { throw invalid("locale", "A language tag has letters, digits and hyphens (BCP 47).") }
    return locale
  }

  static func mail(_ continueURI: String, _ locale: String) throws -> MailOrder {
    MailOrder(
      continueURI: try required(continueURI, "continue_uri", bytesMax: urlBytesMax), locale: try Shape.locale(locale))
  }

  static func phoneCode(_ request: Wire.SendPhoneCodeRequest) throws -> Identity.SendPhoneCodeRequest {
    let purpose = try purpose(request.purpose, idToken: request.idToken)
    return Identity.SendPhoneCodeRequest(
      phoneNumber: try phoneNumber(request.phoneNumber, "phone_number"), purpose: purpose,
      idToken: try text(request.idToken, "id_token", bytesMax: tokenBytesMax), locale: try locale(request.locale))
  }
}
