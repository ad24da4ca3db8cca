internal import Client
internal import Messages

extension Stubs {
  func sendSecondFactor(_ call: Call, _ service: Stub.ServicePointer, _ context: UnsafeMutableRawPointer) {
    switch call {
    case .startSecondFactor(let pendingToken, let factorID):
      let request = unsafe scratch.form(latchkey__v1__start_second_factor_request__init)
      unsafe request.pointee.pending_token = scratch.text(pendingToken)
      unsafe request.pointee.factor_id = scratch.text(factorID)
      unsafe latchkey__v1__second_factor_service__start_second_factor(service, request, onStartFactor, context)
    case .finishSecondFactor(let pendingToken, let factorID, let code):
      let request = unsafe scratch.form(latchkey__v1__finish_second_factor_request__init)
      unsafe request.pointee.pending_token = scratch.text(pendingToken)
      unsafe request.pointee.factor_id = scratch.text(factorID)
      unsafe request.pointee.code = scratch.text(code)
      unsafe latchkey__v1__second_factor_service__finish_second_factor(service, request, onFinishFactor, context)
    case .startEnrollment(let idToken):
      let request = unsafe scratch.form(latchkey__v1__start_enrollment_request__init)
      unsafe request.pointee.id_token = scratch.text(idToken)
      unsafe request.pointee.kind = scratch.text("totp")
      unsafe latchkey__v1__second_factor_service__start_enrollment(service, request, onStartEnrollment, context)
    case .finishEnrollment(let idToken, let enrollmentID, let code):
      let request = unsafe scratch.form(latchkey__v1__finish_enrollment_request__init)
      unsafe request.pointee.id_token = scratch.text(idToken)
      unsafe request.pointee.enrollment_id = scratch.text(enrollmentID)
      unsafe request.pointee.code = scratch.text(code)
      unsafe latchkey__v1__second_factor_service__finish_enrollment(service, request, onFinishEnrollment, context)
    case .withdraw(let idToken, let factorID):
      let request = unsafe scratch.form(latchkey__v1__withdraw_request__init)
      unsafe request.pointee.id_token = scratch.text(idToken)
      unsafe request.pointee.factor_id = scratch.text(factorID)
      unsafe latchkey__v1__second_factor_service__withdraw(service, request, onWithdraw, context)
    default: break
    }
  }

  func sendVerification(_ call: Call, _ service: Stub.ServicePointer, _ context: UnsafeMutableRawPointer) {
    switch call {
    case .sendPhoneCode(let phoneNumber):
      let request = unsafe scratch.form(latchkey__v1__send_phone_code_request__init)
      unsafe request.pointee.phone_number = scratch.text(phoneNumber)
      unsafe latchkey__v1__verification_service__send_phone_code(service, request, onSendPhoneCode, context)
    case .sendEmailLink(let email, let continueURI):
      let request = unsafe scratch.form(latchkey__v1__send_email_link_request__init)
      unsafe request.pointee.email = scratch.text(email)
      unsafe request.pointee.continue_uri = scratch.text(continueURI)
      unsafe latchkey__v1__verification_service__send_email_link(service, request, onSendEmailLink, context)
    case .sendEmailVerification(let idToken, let continueURI):
      let request = unsafe scratch.form(latchkey__v1__send_email_verification_request__init)
      unsafe request.pointee.id_token = scratch.text(idToken)
      unsafe request.pointee.continue_uri = scratch.text(continueURI)
      unsafe latchkey__v1__verification_service__send_email_verification(service, request, onSendVerification, context)
    case .sendPasswordReset(let email, let continueURI):
      let request = unsafe scratch.form(latchkey__v1__send_password_reset_request__init)
      unsafe request.pointee.email = scratch.text(email)
      unsafe request.pointee.continue_uri = scratch.text(continueURI)
      unsafe latchkey__v1__verification_service__send_password_reset(service, request, onSendReset, context)
    case .sendEmailChange(let idToken, let newEmail, let continueURI):
      let request = unsafe scratch.form(latchkey__v1__send_email_change_request__init)
      unsafe request.pointee.id_token = scratch.text(idToken)
      unsafe request.pointee.new_email = scratch.text(newEmail)
      unsafe request.pointee.continue_uri = scratch.text(continueURI)
      unsafe latchkey__v1__verification_service__send_email_change(service, request, onSendChange, context)
    case .checkCode(let code):
      let request = unsafe scratch.form(latchkey__v1__check_code_request__init)
      unsafe request.pointee.code = scratch.text(code)
      unsafe latchkey__v1__verification_service__check_code(service, request, onCheckCode, context)
    case .confirmEmail(let code):
      let request = unsafe scratch.form(latchkey__v1__confirm_email_request__init)
      unsafe request.pointee.code = scratch.text(code)
      unsafe latchkey__v1__verification_service__confirm_email(service, request, onConfirmEmail, context)
    case .resetPassword(let code, let newPassword):
      let request = unsafe scratch.form(latchkey__v1__reset_password_request__init)
      unsafe request.pointee.code = scratch.text(code)
      unsafe request.pointee.new_password = scratch.text(newPassword)
      unsafe latchkey__v1__verification_service__reset_password(service, request, onResetPassword, context)
    default: break
    }
  }
}

// MARK: Answers

let onStartFactor: Latchkey__V1__StartSecondFactorResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe begun($0.pointee.verification_id, $0.pointee.expires_at) })
}

let onFinishFactor: Latchkey__V1__FinishSecondFactorResponse_Closure = { message, context in
  unsafe Reply.hear(
    context,
    message.map { message in
      switch unsafe message.pointee.outcome_case {
      case LATCHKEY__V1__FINISH_SECOND_FACTOR_RESPONSE__OUTCOME_SESSION: return unsafe session(message.pointee.session)
      case LATCHKEY__V1__FINISH_SECOND_FACTOR_RESPONSE__OUTCOME_ACCOUNT_EXISTS: return .other("account_exists")
      case LATCHKEY__V1__FINISH_SECOND_FACTOR_RESPONSE__OUTCOME_CREDENTIAL_IN_USE: return .other("credential_in_use")
      default: return .other("none")
      }
    })
}

let onStartEnrollment: Latchkey__V1__StartEnrollmentResponse_Closure = { message, context in
  unsafe Reply.hear(
    context,
    message.map { unsafe .enrolling(id: text($0.pointee.enrollment_id), secret: text($0.pointee.totp_secret)) })
}

let onFinishEnrollment: Latchkey__V1__FinishEnrollmentResponse_Closure = { message, context in
  unsafe Reply.hear(
    context,
    message.map { message in
      guard let facts = unsafe facts(ofSession: message.pointee.session) else { return .other("none") }
      return unsafe .enrolled(facts, recoveryCodes: message.pointee.n_recovery_codes)
    })
}

let onWithdraw: Latchkey__V1__WithdrawResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe session($0.pointee.session) })
}

let onSendPhoneCode: Latchkey__V1__SendPhoneCodeResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe begun($0.pointee.verification_id, $0.pointee.expires_at) })
}

let onSendEmailLink: Latchkey__V1__SendEmailLinkResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe begun(nil, $0.pointee.expires_at) })
}

let onSendVerification: Latchkey__V1__SendEmailVerificationResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe begun(nil, $0.pointee.expires_at) })
}

let onSendReset: Latchkey__V1__SendPasswordResetResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe begun(nil, $0.pointee.expires_at) })
}

let onSendChange: Latchkey__V1__SendEmailChangeResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { unsafe begun(nil, $0.pointee.expires_at) })
}

// Of these three only refusals are waited for.

let onCheckCode: Latchkey__V1__CheckCodeResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { _ in .done })
}

let onConfirmEmail: Latchkey__V1__ConfirmEmailResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { _ in .done })
}

let onResetPassword: Latchkey__V1__ResetPasswordResponse_Closure = { message, context in
  unsafe Reply.hear(context, message.map { _ in .done })
}
