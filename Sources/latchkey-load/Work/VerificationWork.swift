internal import API
internal import Reactor

// Workloads of VerificationService: sending codes and links, and rejecting invalid codes. No workload needs a mailbox
// or a phone.

extension Step {
  static func sendPhoneCode(_ phoneNumber: String) -> Step {
    .call(VerificationRPC.sendPhoneCode, SendPhoneCodeRequest(phoneNumber: phoneNumber)) { response, _ in
      response.verificationID.isEmpty ? .wrong("no ID") : expires(atMillis: response.expiresAtMillis)
    }
  }

  static func sendEmailLink(_ email: String, _ continueURI: String) -> Step {
    let request = SendEmailLinkRequest(email: email, continueURI: continueURI)
    return .call(VerificationRPC.sendEmailLink, request) { response, _ in expires(atMillis: response.expiresAtMillis) }
  }

  static func sendEmailCode(_ email: String) -> Step {
    .call(VerificationRPC.sendEmailCode, SendEmailCodeRequest(email: email)) { response, _ in
      response.verificationID.isEmpty ? .wrong("no ID") : expires(atMillis: response.expiresAtMillis)
    }
  }

  static func sendEmailVerification(_ user: LoadUser, _ continueURI: String) -> Step {
    let request = SendEmailVerificationRequest(idToken: user.idToken, continueURI: continueURI)
    return .call(VerificationRPC.sendEmailVerification, request) { response, _ in
      expires(atMillis: response.expiresAtMillis)
    }
  }

  static func sendPasswordReset(_ user: LoadUser, _ continueURI: String) -> Step {
    let request = SendPasswordResetRequest(email: user.login.email, continueURI: continueURI)
    return .call(VerificationRPC.sendPasswordReset, request) { response, _ in
      expires(atMillis: response.expiresAtMillis)
    }
  }

  static func sendEmailChange(
    _ user: LoadUser, to newEmail: String, _ continueURI: String, atNanos nowNanos: Int64 = monotonicNanos()
  ) -> Step {
    withRecentLogin(user, atNanos: nowNanos) {
      let request = SendEmailChangeRequest(idToken: user.idToken, newEmail: newEmail, continueURI: continueURI)
      return .call(VerificationRPC.sendEmailChange, request) { response, _ in
        expires(atMillis: response.expiresAtMillis)
      }
    }
  }

  static func checkCode(_ code: String) -> Step { invalid(VerificationRPC.checkCode, CheckCodeRequest(code: code)) }

  static func confirmEmail(_ code: String) -> Step {
    invalid(VerificationRPC.confirmEmail, ConfirmEmailRequest(code: code))
  }

  static func resetPassword(_ code: String) -> Step {
    invalid(VerificationRPC.resetPassword, ResetPasswordRequest(code: code, newPassword: "a password of nobody"))
  }

  private static func invalid<Request, Response>(_ rpc: RPC<Request, Response>, _ request: Request) -> Step {
    .rejected(rpc, request, with: "INVALID_CODE", orElse: "an invalid code was accepted")
  }
}
