import Encodings
import Store

/// The purpose of an emailed code, as links and their pages name it.
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
    case .link, .secondFactor, .credentialInUse, .flow, .enrollment, .phoneCode, .passkeyRegistration, .passkeySignIn,
      .emailCode:
      return nil
    }
  }
}

/// The link in an email: the caller's own page with the code in its query. It is never built from request headers
/// (check 70).
enum EmailLink {
  static func uri(_ page: String, mode: CodeMode, code: String, email: String) -> String {
    let separator = page.contains("?") ? (page.hasSuffix("?") || page.hasSuffix("&") ? "" : "&") : "?"
    let (code, email) = (PercentEncoding.encode(code), PercentEncoding.encode(email))
    return page + separator + "mode=\(mode.rawValue)&code=\(code)&email=\(email)"
  }
}

/// The link target and language of an email, as the caller requested.
package struct MailOrder: Hashable, Sendable {
  package var continueURI: String
  package var locale: String

  package init(continueURI: String, locale: String = "") {
    self.continueURI = continueURI
    self.locale = locale
  }
}

extension Environment {
  /// Requires that mail is configured, and that the caller may use the page of the link.
  func requireMail(_ order: MailOrder, _ call: CallFacts) throws(Failure) {
    guard policy.mailEnabled else {
      throw Failure(.operationNotAllowed, hint: "Mail is not configured on this server.")
    }
    try call.requireRedirect(order.continueURI, field: "continue_uri")
  }

  /// Returns the write that queues an email with the link of a code.
  func mail(
    _ kind: OutgoingMessage.Kind, _ code: NewPending, to email: String, _ order: MailOrder,
    values: [String: String] = [:], _ now: Timestamp
  ) -> Write {
    var values = values
    values["link"] = link(of: code, to: email, order)
    let message = OutgoingMessage(
      kind, to: .email(email), locale: order.locale, values: values, expiresAt: code.record.expiresAt)
    return enqueue(message, for: code.record.accountID, now: now)
  }

  /// Returns the link of a code; nil for a code that no link has.
  func link(of code: NewPending, to email: String, _ order: MailOrder) -> String? {
    CodeMode(code.record.purpose).map {
      EmailLink.uri(order.continueURI, mode: $0, code: code.handle, email: email)
    }
  }
}
