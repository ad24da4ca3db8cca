// Workloads with codes and links: sending them, and rejecting invalid ones. No workload needs a mailbox or a phone.

extension SingleCall {
  static func sendPhoneCode(_ phoneNumber: String) -> SingleCall {
    SingleCall(.sendPhoneCode(phoneNumber: phoneNumber)) { $0.begun(withID: true) }
  }

  static func sendEmailLink(_ email: String, _ continueURI: String) -> SingleCall {
    SingleCall(.sendEmailLink(email: email, continueURI: continueURI)) { $0.begun(withID: false) }
  }

  static func sendEmailVerification(_ user: LoadUser, _ continueURI: String) -> SingleCall {
    let idToken = user.session?.idToken ?? ""
    return SingleCall(.sendEmailVerification(idToken: idToken, continueURI: continueURI)) { $0.begun(withID: false) }
  }

  static func sendPasswordReset(_ user: LoadUser, _ continueURI: String) -> SingleCall {
    SingleCall(.sendPasswordReset(email: user.login.email, continueURI: continueURI)) { $0.begun(withID: false) }
  }

  /// Returns a call that the server must reject with the reason in `Call.refusal`.
  static func refused(_ call: Call) -> SingleCall {
    SingleCall(call) { answer in
      guard case .refused = answer else { return .wrong("an invalid code was accepted") }
      return .done
    }
  }
}
