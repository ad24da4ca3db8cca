import Store
import Testing

@testable import Identity

extension World {
  /// A world in which emails carry codes, and links if the call names a page.
  static func mailingCodes(
    store: MemoryStore = MemoryStore(), policy edit: (inout Policy) -> Void = { _ in }
  ) -> World {
    .sending(store: store) { policy in
      policy.emailCodes = .codeAndLink
      edit(&policy)
    }
  }

  /// Emails a code, and returns its digits as their reader types them.
  /// - Parameters:
  ///   - email: nil: the account's own address.
  ///   - page: empty: the email has no link.
  func digits(
    for purpose: EmailCodePurpose = .signIn, to email: String? = nil, page: String = "",
    in session: SessionGrant? = nil, field: String = "code", _ call: CallFacts? = nil
  ) async throws -> EmailDigits {
    let request = SendEmailCodeRequest(
      email: purpose.isForOwnAddress ? "" : email ?? ada, purpose: purpose, idToken: session?.idToken ?? "",
      mail: MailOrder(continueURI: page, locale: "de"))
    let sent = try await SendEmailCode(environment)(request, call ?? self.call())
    return EmailDigits(
      verificationID: sent.verificationID, digits: try lastMessage().values["code"] ?? "000000",
      field: field)
  }

  /// The credential of a mailbox's owner.
  func emailCode(
    to email: String = ada, for purpose: EmailCodePurpose = .signIn, page: String = "",
    in session: SessionGrant? = nil, _ call: CallFacts? = nil
  ) async throws -> Credential {
    .emailCode(try await digits(for: purpose, to: email, page: page, in: session, field: EmailDigits.credential, call))
  }

  func confirm(_ digits: EmailDigits, _ session: SessionGrant? = nil, _ call: CallFacts? = nil) async throws
    -> EmailConfirmed
  {
    try await ConfirmEmail(environment)(.digits(digits), idToken: session?.idToken ?? "", call ?? self.call())
  }

  func reset(
    _ digits: EmailDigits, to password: String = "battery staple", claimAddress: Bool = false, _ call: CallFacts? = nil
  ) async throws -> PasswordWasReset {
    try await ResetPassword(environment)(
      .digits(digits), newPassword: password, claimAddress: claimAddress, call ?? self.call())
  }

  func create(
    _ digits: EmailDigits, email: String = ada, _ call: CallFacts? = nil
  ) async throws -> CreateAnswer {
    let request = CreateAccountRequest(email: email, password: "a long secret", proof: .digits(digits))
    return try await CreateAccount(environment)(request, call ?? self.call())
  }
}

extension EmailDigits {
  static let credential = "credential.email_code.code"

  var mistyped: EmailDigits {
    var other = self
    other.digits = (digits.hasPrefix("0") ? "1" : "0") + digits.dropFirst()
    return other
  }
}
