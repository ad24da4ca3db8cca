import Store
import Testing

@testable import Identity

/// Ada's phone number.
let number = "+15550100"
/// A page of the caller that emailed links may open.
let page = "https://app.example/callback"

extension World {
  /// A world with transports for email and text messages, and sign-in by emailed links enabled.
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

  /// The last message, as its recipient reads it.
  func lastMessage() throws -> OutgoingMessage {
    let record = try #require(store.contents.deliveries.last)
    return try #require(environment.message(of: record))
  }

  /// Sends a code, and returns the credential of the phone's owner.
  func phoneCode(
    to number: String = number, for purpose: FlowPurpose = .signIn, in session: SessionGrant? = nil,
    _ call: CallFacts? = nil
  ) async throws -> Credential {
    let request = SendPhoneCodeRequest(phoneNumber: number, purpose: purpose, idToken: session?.idToken ?? "")
    let sent = try await SendPhoneCode(environment)(request, call ?? self.call())
    return .phoneCode(verificationID: sent.verificationID, digits: try #require(lastMessage().values["code"]))
  }

  /// Emails a link, and returns the credential of the mailbox's owner.
  func emailLink(_ call: CallFacts) async throws -> Credential { try await emailLink(to: ada, call) }

  func emailLink(to email: String = ada, _ call: CallFacts? = nil) async throws -> Credential {
    _ = try await SendEmailLink(environment)(email, MailOrder(continueURI: page), call ?? self.call())
    return .emailLink(email: email, code: try lastCode())
  }

  /// The code of the last emailed link.
  func lastCode() throws -> String {
    let link = try #require(lastMessage().values["link"])
    let code = try #require(link.split(separator: "code=").last?.split(separator: "&").first)
    return String(code)
  }
}

extension Credential {
  /// The same credential with wrong digits.
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

  /// The code of an emailed link.
  var linkCode: String {
    get throws {
      guard case .emailLink(_, let code) = self else { throw UnexpectedAnswer(text: "\(self)") }
      return code
    }
  }
}
