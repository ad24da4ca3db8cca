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
    return page + separator + "mode=\(mode.rawValue)&code=\(percentEncoded(code))&email=\(percentEncoded(email))"
  }

  /// All but the unreserved characters of RFC 3986, 2.3.
  private static func percentEncoded(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var encoded: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        encoded.append(byte)
      default: encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: encoded, as: UTF8.self)
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
    guard call.redirectURIs.contains(where: { $0.utf8.elementsEqual(order.continueURI.utf8) }) else {
      throw Failure(
        .redirectURINotAllowed, field: "continue_uri", hint: "It is not on this caller's list, byte for byte.")
    }
  }

  /// The mail with the link that the code is in.
  func mail(_ kind: OutgoingMessage.Kind, _ code: NewPending, to email: String, _ order: MailOrder, _ now: Timestamp)
    -> Write
  {
    var values: [String: String] = [:]
    if let mode = CodeMode(code.record.purpose) {
      values["link"] = MailedLink.uri(order.continueURI, mode: mode, code: code.handle, email: email)
    }
    let message = OutgoingMessage(
      kind, to: .email(email), locale: order.locale, values: values, expiresAt: code.record.expiresAt)
    return enqueue(message, now: now)
  }
}
