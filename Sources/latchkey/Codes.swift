import ArgumentParser
import Encodings
import Reactor
import Tokens
import API

/// The options of an email with a link.
struct MailOptions: ParsableArguments {
  @Option(name: .long, help: "Page that the link opens; one of the caller's redirect_uris.")
  var continueURI: String

  @Option(name: .long, help: ArgumentHelp("Language of the email, such as de.", valueName: "language"))
  var locale = ""
}

/// A code from an email or a text message.
enum SentCode {
  /// Reads a code, or a link that contains it, and returns the code.
  static func read(_ option: String, file: String?, prompt: String) throws -> String {
    let text = try SecretSource(option: option, file: file, prompt: prompt).read()
    guard let query = text.split(separator: "?", maxSplits: 1).dropFirst().first else { return text }
    let code = query.split(separator: "&").first { $0.hasPrefix("code=") }
    guard let code else { throw Ending.usage(option, "the link contains no code") }
    return String(code.dropFirst("code=".count))
  }
}

extension CommandContext {
  /// Reports that the service has sent a message, and the command to run next.
  func sent(_ line: String, _ expiresAtMillis: Int64?, then words: String...) -> Report {
    let until = expiresAtMillis.map(rfc3339) ?? "it expires"
    return Report(
      ["\(line) It is valid until \(until).", "", "Then: " + commandLine(["latchkey"] + words + common.repeated)],
      [JSONMember("outcome", .string("sent")), JSONMember("expires_at", .moment(expiresAtMillis))])
  }
}

struct SendPhoneCode: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "send-phone-code", abstract: "Send a six-digit code to a phone.",
    discussion: """
      latchkey send-phone-code +491511234567
      latchkey sign-in --phone-code
      """)

  @Argument(help: "Phone number with + and country code.")
  var number: String

  @Option(name: .customLong("for"), help: "Purpose of the code.")
  var purpose = Purpose.signIn

  @Option(name: .long, help: ArgumentHelp("Language of the message, such as de.", valueName: "language"))
  var locale = ""

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(
      VerificationRPC.sendPhoneCode,
      SendPhoneCodeRequest(
        phoneNumber: number, purpose: purpose.onTheWire,
        idToken: purpose == .signIn ? "" : try context.session().idToken, locale: locale, binding: try context.binding()
      ))
    try context.remember(\.code, Profile.Pending(token: answer.verificationID, expiresAtMillis: answer.expiresAtMillis))
    return context.sent(
      "A code was sent to \(printable(number)).", answer.expiresAtMillis, then: purpose.rawValue, "--phone-code")
  }
}

struct SendEmailLink: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "send-email-link", abstract: "Send a sign-in link by email.",
    discussion: """
      latchkey send-email-link --email alice@example.com \\
        --continue-uri http://localhost:3000/callback
      latchkey sign-in --email-link alice@example.com
      """)

  @Option(name: .long, help: "Email address.")
  var email: String

  @OptionGroup var mail: MailOptions

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(
      VerificationRPC.sendEmailLink,
      SendEmailLinkRequest(
        email: email, continueURI: mail.continueURI, locale: mail.locale, binding: try context.binding()))
    return context.sent(
      "A sign-in link was sent to \(printable(email)).", answer.expiresAtMillis, then: "sign-in", "--email-link", email)
  }
}

struct VerifyEmail: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify-email", abstract: "Send a verification link to your account's email address.",
    discussion: """
      latchkey verify-email --continue-uri http://localhost:3000/callback
      latchkey confirm-email
      """)

  @OptionGroup var mail: MailOptions

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(
      VerificationRPC.sendEmailVerification,
      SendEmailVerificationRequest(
        idToken: try context.session().idToken, continueURI: mail.continueURI, locale: mail.locale))
    return context.sent("A link was sent to your email address.", answer.expiresAtMillis, then: "confirm-email")
  }
}

struct ChangeEmail: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "change-email", abstract: "Send a link to a new email address that makes it your account's address.",
    discussion: """
      latchkey change-email new@example.com \\
        --continue-uri http://localhost:3000/callback
      latchkey confirm-email

      After the change, the service sends a link to the old address, if verified, that reverts the change.
      """)

  @Argument(help: "New email address.")
  var newEmail: String

  @OptionGroup var mail: MailOptions

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(
      VerificationRPC.sendEmailChange,
      SendEmailChangeRequest(
        idToken: try context.session().idToken, newEmail: newEmail, continueURI: mail.continueURI, locale: mail.locale))
    return context.sent("A link was sent to \(printable(newEmail)).", answer.expiresAtMillis, then: "confirm-email")
  }
}

struct ConfirmEmail: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "confirm-email", abstract: "Follow a link that verifies, changes or reverts an email address.",
    discussion: """
      latchkey confirm-email                 # asks for the link
      latchkey confirm-email --code-file link.txt
      latchkey confirm-email --email-code    # asks for the six digits
      """)

  @Flag(name: .long, help: "Use the code sent by latchkey send-email-code.")
  var emailCode = false

  @Option(
    name: .long,
    help: ArgumentHelp("File with the link or its code; - for standard input. (default: prompt)", valueName: "file"))
  var codeFile: String?

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    if emailCode {
      let (sent, code) = try context.sentCode("--email-code", file: codeFile)
      let request = ConfirmEmailRequest(
        code: code, idToken: try context.session().idToken, verificationID: sent, binding: try context.binding())
      let answer = try context.call(VerificationRPC.confirmEmail, request)
      return try context.opened(answer.session, "Confirmed \(printable(answer.email))")
    }
    let code = try SentCode.read("--code-file", file: codeFile, prompt: "Link from the email (not shown): ")
    let check = try context.call(VerificationRPC.checkCode, CheckCodeRequest(code: code))
    let isWayBack = check.mode == .revertEmail
    let answer = try context.call(
      VerificationRPC.confirmEmail,
      ConfirmEmailRequest(code: code, idToken: isWayBack ? "" : try context.session().idToken))
    guard answer.session != nil else {
      return Report(
        ["The account has the email address \(printable(answer.email)) again. All its sessions have ended."],
        [JSONMember("outcome", .string("reverted")), JSONMember("email", .string(answer.email))])
    }
    return try context.opened(answer.session, "Confirmed \(printable(answer.email))")
  }
}

struct ResetPassword: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "reset-password", abstract: "Send a link that resets the password, or follow it.",
    discussion: """
      latchkey reset-password --email alice@example.com \\
        --continue-uri http://localhost:3000/callback
      latchkey reset-password --code-file link.txt
      latchkey reset-password --email-code   # asks for the six digits

      If the service reports that the account never verified the email address, use the link again with \
      --claim-address.
      """)

  @Option(name: .long, help: "Email address of the account.")
  var email: String?

  @Option(name: .long, help: "Page that the link opens; one of the caller's redirect_uris.")
  var continueURI: String?

  @Option(name: .long, help: ArgumentHelp("Language of the email, such as de.", valueName: "language"))
  var locale = ""

  @Option(
    name: .long,
    help: ArgumentHelp("File with the link or its code; - for standard input.", valueName: "file"))
  var codeFile: String?

  @Flag(name: .long, help: "Use the code sent by latchkey send-email-code --for reset-password.")
  var emailCode = false

  @Option(
    name: .long,
    help: ArgumentHelp(
      "File with the new password; - for standard input. (default: the password in $LATCHKEY_PASSWORD, or prompt)",
      valueName: "file"))
  var passwordFile: String?

  @Flag(name: .long, help: "Take the email address from an account that has never verified it; with --code-file.")
  var claimAddress = false

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard (email == nil) != (codeFile == nil && !emailCode), (email == nil) == (continueURI == nil) else {
      throw ValidationError("Give --email with --continue-uri, or --code-file, or --email-code.")
    }
    guard !claimAddress || email == nil else {
      throw ValidationError("Give --claim-address with --code-file or --email-code only.")
    }
  }

  func perform(_ context: CommandContext) throws -> Report {
    if let email { return try send(to: email, context) }
    let answer = try context.call(VerificationRPC.resetPassword, try request(context))
    var lines = [
      answer.isNewAccount
        ? "\(printable(answer.email)) belongs to a new account with this password. The other account has lost it."
        : "The password of \(printable(answer.email)) is set. All sessions of the account have ended."
    ]
    if !answer.revokedProviderIDs.isEmpty {
      lines.append("Removed unverified sign-in methods: \(answer.revokedProviderIDs.joined(separator: ", ")).")
    }
    return Report(
      lines,
      [
        JSONMember("outcome", .string("reset")), JSONMember("email", .string(answer.email)),
        JSONMember("revoked_provider_ids", .strings(answer.revokedProviderIDs)),
        JSONMember("is_new_account", .bool(answer.isNewAccount)),
      ])
  }

  private func request(_ context: CommandContext) throws -> ResetPasswordRequest {
    if emailCode {
      let (sent, code) = try context.sentCode("--email-code", file: codeFile)
      let password = try PasswordOptions.source(passwordFile, of: "the account", isNew: true).read()
      return ResetPasswordRequest(
        code: code, newPassword: password, claimAddress: claimAddress, verificationID: sent,
        binding: try context.binding())
    }
    let code = try SentCode.read("--code-file", file: codeFile, prompt: "Link from the email (not shown): ")
    let check = try context.call(VerificationRPC.checkCode, CheckCodeRequest(code: code))
    let password = try PasswordOptions.source(passwordFile, of: check.email, isNew: true).read()
    return ResetPasswordRequest(code: code, newPassword: password, claimAddress: claimAddress)
  }

  private func send(to email: String, _ context: CommandContext) throws -> Report {
    let answer = try context.call(
      VerificationRPC.sendPasswordReset,
      SendPasswordResetRequest(email: email, continueURI: continueURI ?? "", locale: locale))
    return context.sent(
      "If \(printable(email)) has an account, a link was sent to it.", answer.expiresAtMillis,
      then: "reset-password", "--code-file", "FILE")
  }
}
