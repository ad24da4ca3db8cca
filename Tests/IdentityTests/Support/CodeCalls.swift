import Store
import Testing

@testable import Identity

/// Ada's telephone.
let number = "+15550100"
/// A page of the caller's that mailed links may lead to.
let page = "https://app.example/callback"

extension World {
  /// With roads for mail and text messages, and mailed links allowed.
  static func sending(
    store: MemoryStore = MemoryStore(), policy edit: (inout Policy) -> Void = { _ in }
  ) -> World {
    World(store: store) { policy in
      policy.mailEnabled = true
      policy.textMessagesEnabled = true
      policy.emailLinkEnabled = true
      edit(&policy)
    }
  }

  /// What was sent last, as its recipient reads it.
  func lastMessage() throws -> OutgoingMessage {
    let record = try #require(store.contents.deliveries.last)
    return try #require(environment.message(of: record))
  }

  /// Sends a code, and answers with the credential of who has the telephone.
  func phoneCode(
    to number: String = number, for purpose: FlowPurpose = .signIn, in session: SessionGrant? = nil,
    _ call: CallFacts? = nil
  ) async throws -> Credential {
    let request = SendPhoneCodeRequest(phoneNumber: number, purpose: purpose, idToken: session?.idToken ?? "")
    let sent = try await SendPhoneCode(environment)(request, call ?? self.call())
    return .phoneCode(verificationID: sent.verificationID, digits: try #require(lastMessage().values["code"]))
  }

  /// Mails a link, and answers with the credential of who has the mailbox.
  func emailLink(_ call: CallFacts) async throws -> Credential { try await emailLink(to: ada, call) }

  func emailLink(to email: String = ada, _ call: CallFacts? = nil) async throws -> Credential {
    _ = try await SendEmailLink(environment)(email, MailOrder(continueURI: page), call ?? self.call())
    return .emailLink(email: email, code: try lastCode())
  }

  /// The code in the link that was mailed last.
  func lastCode() throws -> String {
    let link = try #require(lastMessage().values["link"])
    let code = try #require(link.split(separator: "code=").last?.split(separator: "&").first)
    return String(code)
  }
}

extension Credential {
  /// The same code with other digits.
  var mistyped: Credential {
    guard case .phoneCode(let verificationID, let digits) = self else { return self }
    let other = digits.hasPrefix("0") ? "1" : "0"
    return .phoneCode(verificationID: verificationID, digits: other + digits.dropFirst())
  }

  var verificationID: String {
    guard case .phoneCode(let verificationID, _) = self else { return "" }
    return verificationID
  }

  var digits: String {
    get throws {
      guard case .phoneCode(_, let digits) = self else { throw UnexpectedAnswer(text: "\(self)") }
      return digits
    }
  }

  /// Of a mailed link.
  var linkCode: String {
    get throws {
      guard case .emailLink(_, let code) = self else { throw UnexpectedAnswer(text: "\(self)") }
      return code
    }
  }
}
