// Codes and mailed links: that they are sent, and that those which nobody was sent are refused. What a mailbox or a
// telephone would have to be read for is not done here.

extension SingleCall {
  static func sendPhoneCode(_ phoneNumber: String) -> SingleCall {
    SingleCall(.sendPhoneCode(phoneNumber: phoneNumber)) { $0.begun(withID: true) }
  }

  static func sendEmailLink(_ email: String, _ continueURI: String) -> SingleCall {
    SingleCall(.sendEmailLink(email: email, continueURI: continueURI)) { $0.begun(withID: false) }
  }

  static func sendEmailVerification(_ person: Person, _ continueURI: String) -> SingleCall {
    let idToken = person.session?.idToken ?? ""
    return SingleCall(.sendEmailVerification(idToken: idToken, continueURI: continueURI)) { $0.begun(withID: false) }
  }

  static func sendPasswordReset(_ person: Person, _ continueURI: String) -> SingleCall {
    SingleCall(.sendPasswordReset(email: person.login.email, continueURI: continueURI)) { $0.begun(withID: false) }
  }

  /// A call that must be refused: `Call.refusal` says with which reason.
  static func refused(_ call: Call) -> SingleCall {
    SingleCall(call) { answer in
      guard case .refused = answer else { return .wrong("a code that nobody was sent was taken") }
      return .done
    }
  }
}
