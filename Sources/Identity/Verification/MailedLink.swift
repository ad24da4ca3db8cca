import Encodings
import Store

/// What a mailed code is for, as pages and the links to them name it.
package enum CodeMode: String, Sendable, CaseIterable {
  case signIn
  case signUp
  case verifyEmail
  case resetPassword
  case changeEmail
  case revertEmail

  init?(_ purpose: PendingPurpose) {
    switch purpose {
    case .emailLink: self = .signIn
    case .signUp: self = .signUp
    case .verifyEmail: self = .verifyEmail
    case .resetPassword: self = .resetPassword
    case .changeEmail: self = .changeEmail
    case .revertEmail: self = .revertEmail
    case .link, .secondFactor, .credentialInUse, .flow, .enrollment, .phoneCode: return nil
    }
  }
}

/// The address in a mail: the caller's own page, never one made from a request's headers (check 70), with the code in
/// its query.
enum MailedLink {
  static func uri(_ page: String, mode: CodeMode, code: String, email: String) -> String {
    let separator = page.contains("?") ? (page.hasSuffix("?") || page.hasSuffix("&") ? "" : "&") : "?"
    let (code, email) = (PercentEncoding.encode(code), PercentEncoding.encode(email))
    return page + separator + "mode=\(mode.rawValue)&code=\(code)&email=\(email)"
  }
}

/// Where a mail leads and in which language, as the caller asked.
package struct MailOrder: Hashable, Sendable {
  package var continueURI: String
  package var locale: String

  package init(continueURI: String, locale: String = "") {
    self.continueURI = continueURI
    self.locale = locale
  }
}

extension Environment {
  /// What every mail with a link asks for first.
  func requireMail(_ order: MailOrder, _ call: CallFacts) throws(Failure) {
    guard policy.mailEnabled else {
      throw Failure(.operationNotAllowed, hint: "This service sends no mail.")
    }
    try call.requireRedirect(order.continueURI, field: "continue_uri")
  }

  /// The mail with the link that the code is in.
  func mail(
    _ kind: OutgoingMessage.Kind, _ code: NewPending, to email: String, _ order: MailOrder,
    values: [String: String] = [:], _ now: Timestamp
  ) -> Write {
    var values = values
    if let mode = CodeMode(code.record.purpose) {
      values["link"] = MailedLink.uri(order.continueURI, mode: mode, code: code.handle, email: email)
    }
    let message = OutgoingMessage(
      kind, to: .email(email), locale: order.locale, values: values, expiresAt: code.record.expiresAt)
    return enqueue(message, now: now)
  }
}
