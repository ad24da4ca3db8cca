import ArgumentParser
import API

/// The purpose of a code by email.
enum EmailCodeUse: String, CaseIterable, ExpressibleByArgument {
  case signIn = "sign-in"
  case link
  case reauthenticate
  case verifyEmail = "verify-email"
  case resetPassword = "reset-password"
  case changeEmail = "change-email"

  fileprivate var onTheWire: EmailCodePurpose {
    switch self {
    case .signIn: .signIn
    case .link: .link
    case .reauthenticate: .reauthenticate
    case .verifyEmail: .verifyEmail
    case .resetPassword: .resetPassword
    case .changeEmail: .changeEmail
    }
  }

  fileprivate var needsSession: Bool { self != .signIn && self != .resetPassword }
  fileprivate var isForOwnAddress: Bool { self == .reauthenticate || self == .verifyEmail }

  /// The command that takes the code.
  fileprivate var command: String {
    switch self {
    case .signIn, .link, .reauthenticate, .resetPassword: rawValue
    case .verifyEmail, .changeEmail: "confirm-email"
    }
  }
}

struct SendEmailCode: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "send-email-code", abstract: "Send a six-digit code by email.",
    discussion: """
      latchkey send-email-code alice@example.com
      latchkey sign-in --email-code

      latchkey send-email-code --for verify-email   # to your own address
      latchkey confirm-email --email-code
      """)

  @Argument(help: "Email address. Omit it for your account's own: --for reauthenticate and verify-email.")
  var email: String?

  @Option(name: .customLong("for"), help: "Purpose of the code.")
  var purpose = EmailCodeUse.signIn

  @Option(name: .long, help: "Page of a link in the same email, and of the link that reverts a change of address.")
  var continueURI = ""

  @Option(name: .long, help: ArgumentHelp("Language of the email, such as de.", valueName: "language"))
  var locale = ""

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard (email == nil) == purpose.isForOwnAddress else {
      throw ValidationError("Give an email address, except with --for reauthenticate and --for verify-email.")
    }
  }

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(
      VerificationRPC.sendEmailCode,
      SendEmailCodeRequest(
        email: email ?? "", purpose: purpose.onTheWire,
        idToken: purpose.needsSession ? try context.session().idToken : "", locale: locale,
        binding: try context.binding(), continueURI: continueURI))
    try context.remember(\.code, Profile.Pending(token: answer.verificationID, expiresAtMillis: answer.expiresAtMillis))
    let recipient = email.map(printable) ?? "your email address"
    return context.sent(
      purpose == .resetPassword
        ? "If \(recipient) has an account, a code was sent to it." : "A code was sent to \(recipient).",
      answer.expiresAtMillis, then: purpose.command, "--email-code")
  }
}

extension CommandContext {
  /// Returns the id of the code that was sent last, and the code, which the user enters.
  func sentCode(_ option: String, file: String?) throws -> (verificationID: String, code: String) {
    guard let sent = try profile().code else {
      throw Ending.usage(option, "no code was sent for the profile \(common.profileName)")
    }
    return (sent.token, try SecretSource(option: "--code-file", file: file, prompt: "Code (not shown): ").read())
  }
}
