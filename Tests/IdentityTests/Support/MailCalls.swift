import Store
import Testing

@testable import Identity

private let order = MailOrder(continueURI: page, locale: "de")

extension World {
  /// Emails a verification link for the address of the session's account, and returns its code.
  func verification(_ session: SessionGrant) async throws -> String {
    _ = try await SendEmailVerification(environment)(idToken: session.idToken, order, call())
    return try lastCode()
  }

  func passwordReset(_ call: CallFacts) async throws -> String { try await passwordReset(of: ada, call) }

  func passwordReset(of email: String = ada, _ call: CallFacts? = nil) async throws -> String {
    _ = try await SendPasswordReset(environment)(email, order, call ?? self.call())
    return try lastCode()
  }

  func emailChange(to email: String, _ session: SessionGrant) async throws -> String {
    _ = try await SendEmailChange(environment)(idToken: session.idToken, newEmail: email, order, call())
    return try lastCode()
  }

  func confirm(_ code: String, _ session: SessionGrant? = nil) async throws -> EmailConfirmed {
    try await ConfirmEmail(environment)(.link(code: code), idToken: session?.idToken ?? "", call())
  }

  func reset(
    _ code: String, to password: String = "battery staple", claimAddress: Bool = false, deviceID: String = "device"
  ) async throws -> PasswordWasReset {
    let call = call(deviceID: deviceID)
    return try await ResetPassword(environment)(
      .link(code: code), newPassword: password, claimAddress: claimAddress, call)
  }

  func check(_ code: String, _ call: CallFacts? = nil) async throws -> CodeCheck {
    try await environment.read(try CheckCode(environment, code: code, call ?? self.call()))
  }

  /// The code in the newest email of this kind to this address.
  func code(_ kind: OutgoingMessage.Kind, to email: String) throws -> String {
    let mails = store.contents.deliveries.compactMap { environment.message(of: $0) }
      .filter { $0.kind == kind && $0.recipient == .email(email) }
    let link = try #require(mails.compactMap { $0.values["link"] }.last)
    return String(try #require(link.split(separator: "code=").last?.split(separator: "&").first))
  }
}
