internal import API

extension CallSender {
  func sendSecondFactor(_ call: Call, _ reply: Reply) {
    switch call {
    case .startSecondFactor(let pendingToken, let factorID):
      let request = StartSecondFactorRequest(pendingToken: pendingToken, factorID: factorID)
      unary(call, SecondFactorRPC.startSecondFactor, request, reply) {
        .begun(verificationID: $0.verificationID, expiresAtMillis: $0.expiresAtMillis ?? 0)
      }
    case .finishSecondFactor(let pendingToken, let factorID, let code):
      let request = FinishSecondFactorRequest(pendingToken: pendingToken, factorID: factorID, code: code)
      unary(call, SecondFactorRPC.finishSecondFactor, request, reply) { response in
        switch response.outcome {
        case .session(let session): .session(SessionFacts(session))
        case .accountExists: .other("account_exists")
        case .credentialInUse: .other("credential_in_use")
        case nil: .other("none")
        }
      }
    case .startEnrollment(let idToken):
      unary(call, SecondFactorRPC.startEnrollment, StartEnrollmentRequest(idToken: idToken, kind: .totp), reply) {
        .enrolling(id: $0.enrollmentID, secret: $0.totpSecret)
      }
    case .finishEnrollment(let idToken, let enrollmentID, let code):
      let request = FinishEnrollmentRequest(idToken: idToken, enrollmentID: enrollmentID, code: code)
      unary(call, SecondFactorRPC.finishEnrollment, request, reply) { response in
        guard let session = response.session else { return .other("none") }
        return .enrolled(SessionFacts(session), recoveryCodes: response.recoveryCodes.count)
      }
    case .withdraw(let idToken, let factorID):
      unary(call, SecondFactorRPC.withdraw, WithdrawRequest(idToken: idToken, factorID: factorID), reply) {
        Answer(session: $0.session)
      }
    default: break
    }
  }

  func sendVerification(_ call: Call, _ reply: Reply) {
    switch call {
    case .sendPhoneCode(let phoneNumber):
      unary(call, VerificationRPC.sendPhoneCode, SendPhoneCodeRequest(phoneNumber: phoneNumber), reply) {
        .begun(verificationID: $0.verificationID, expiresAtMillis: $0.expiresAtMillis ?? 0)
      }
    case .sendEmailLink(let email, let continueURI):
      let request = SendEmailLinkRequest(email: email, continueURI: continueURI)
      unary(call, VerificationRPC.sendEmailLink, request, reply) { .mailed($0.expiresAtMillis) }
    case .sendEmailVerification(let idToken, let continueURI):
      let request = SendEmailVerificationRequest(idToken: idToken, continueURI: continueURI)
      unary(call, VerificationRPC.sendEmailVerification, request, reply) { .mailed($0.expiresAtMillis) }
    case .sendPasswordReset(let email, let continueURI):
      let request = SendPasswordResetRequest(email: email, continueURI: continueURI)
      unary(call, VerificationRPC.sendPasswordReset, request, reply) { .mailed($0.expiresAtMillis) }
    case .sendEmailChange(let idToken, let newEmail, let continueURI):
      let request = SendEmailChangeRequest(idToken: idToken, newEmail: newEmail, continueURI: continueURI)
      unary(call, VerificationRPC.sendEmailChange, request, reply) { .mailed($0.expiresAtMillis) }
    // The workloads expect errors from these three calls.
    case .checkCode(let code):
      unary(call, VerificationRPC.checkCode, CheckCodeRequest(code: code), reply) { _ in .done }
    case .confirmEmail(let code):
      unary(call, VerificationRPC.confirmEmail, ConfirmEmailRequest(code: code), reply) { _ in .done }
    case .resetPassword(let code, let newPassword):
      let request = ResetPasswordRequest(code: code, newPassword: newPassword)
      unary(call, VerificationRPC.resetPassword, request, reply) { _ in .done }
    default: break
    }
  }
}

extension Answer {
  fileprivate static func mailed(_ expiresAtMillis: Int64?) -> Answer {
    .begun(verificationID: "", expiresAtMillis: expiresAtMillis ?? 0)
  }
}
