import ArgumentParser
import Encodings
import Reactor
import Tokens
import API

/// Where a mailed link leads, and its language.
struct MailOptions: ParsableArguments {
  @Option(name: .long, help: "The page that the link leads to; one that the service knows.")
  var continueURI: String

  @Option(name: .long, help: ArgumentHelp("Of the message, such as de.", valueName: "language"))
  var locale = ""
}

/// A code out of a mail or a text message.
enum SentCode {
  /// The code, or the whole link that it is in.
  static func read(_ option: String, file: String?, prompt: String) throws -> String {
    let text = try SecretSource(option: option, file: file, prompt: prompt).read()
    guard let query = text.split(separator: "?", maxSplits: 1).dropFirst().first else { return text }
    let code = query.split(separator: "&").first { $0.hasPrefix("code=") }
    guard let code else { throw Ending.usage(option, "there is no code in that address") }
    return String(code.dropFirst("code=".count))
  }
}

extension Desk {
  /// What is said of a message that is on its way.
  func sent(_ line: String, _ expiresAtMillis: Int64?, then words: String...) -> Report {
    let until = expiresAtMillis.map(rfc3339) ?? "it expires"
    return Report(
      ["\(line) It is good until \(until).", "", "Then: " + commandLine(["latchkey"] + words + common.repeated)],
      [JSONMember("outcome", .string("sent")), JSONMember("expires_at", .moment(expiresAtMillis))])
  }
}

struct SendPhoneCode: DeskCommand {
  static let configuration = CommandConfiguration(
    commandName: "send-phone-code", abstract: "Have six digits sent to a telephone.",
    discussion: """
      latchkey send-phone-code +491511234567
      latchkey sign-in --phone-code
      """)

  @Argument(help: "The telephone number, with + and its country code.")
  var number: String

  @Option(name: .customLong("for"), help: "What the code is to be used for.")
  var purpose = Purpose.signIn

  @Option(name: .long, help: ArgumentHelp("Of the message, such as de.", valueName: "language"))
  var locale = ""

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let answer = try desk.call(
      VerificationRPC.sendPhoneCode,
      SendPhoneCodeRequest(
        phoneNumber: number, purpose: purpose.onTheWire,
        idToken: purpose == .signIn ? "" : try desk.session().idToken, locale: locale, binding: try desk.binding()))
    try desk.remember(\.code, Profile.Pending(token: answer.verificationID, expiresAtMillis: answer.expiresAtMillis))
    return desk.sent(
      "A code was sent to \(printable(number)).", answer.expiresAtMillis, then: purpose.rawValue, "--phone-code")
  }
}

struct SendEmailLink: DeskCommand {
  static let configuration = CommandConfiguration(
    commandName: "send-email-link", abstract: "Have a link mailed that signs in.",
    discussion: """
      latchkey send-email-link --email alice@example.com --continue-uri http://localhost:3000/callback
      latchkey sign-in --email-link alice@example.com
      """)

  @Option(name: .long, help: "Where the link is mailed to.")
  var email: String

  @OptionGroup var mail: MailOptions

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let answer = try desk.call(
      VerificationRPC.sendEmailLink,
      SendEmailLinkRequest(
        email: email, continueURI: mail.continueURI, locale: mail.locale, binding: try desk.binding()))
    return desk.sent(
      "A link was mailed to \(printable(email)).", answer.expiresAtMillis, then: "sign-in", "--email-link", email)
  }
}

struct VerifyEmail: DeskCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify-email", abstract: "Have a link mailed that proves your account's address.",
    discussion: """
      latchkey verify-email --continue-uri http://localhost:3000/callback
      latchkey confirm-email
      """)

  @OptionGroup var mail: MailOptions

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let answer = try desk.call(
      VerificationRPC.sendEmailVerification,
      SendEmailVerificationRequest(
        idToken: try desk.session().idToken, continueURI: mail.continueURI, locale: mail.locale))
    return desk.sent("A link was mailed to your address.", answer.expiresAtMillis, then: "confirm-email")
  }
}

struct ChangeEmail: DeskCommand {
  static let configuration = CommandConfiguration(
    commandName: "change-email", abstract: "Have a link mailed that makes an address your account's.",
    discussion: """
      latchkey change-email new@example.com --continue-uri http://localhost:3000/callback
      latchkey confirm-email

      The old address, if it was proved, is then told of the change, with a way back.
      """)

  @Argument(help: "The new address.")
  var newEmail: String

  @OptionGroup var mail: MailOptions

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let answer = try desk.call(
      VerificationRPC.sendEmailChange,
      SendEmailChangeRequest(
        idToken: try desk.session().idToken, newEmail: newEmail, continueURI: mail.continueURI, locale: mail.locale))
    return desk.sent("A link was mailed to \(printable(newEmail)).", answer.expiresAtMillis, then: "confirm-email")
  }
}

struct ConfirmEmail: DeskCommand {
  static let configuration = CommandConfiguration(
    commandName: "confirm-email", abstract: "Follow a mailed link that proves, changes or takes back an address.",
    discussion: """
      latchkey confirm-email                           # asks for the link
      latchkey confirm-email --code-file link.txt
      """)

  @Option(
    name: .long,
    help: ArgumentHelp("Where the link, or its code, stands; - is standard input. (asked for)", valueName: "file"))
  var codeFile: String?

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let code = try SentCode.read("--code-file", file: codeFile, prompt: "The link that was mailed (not shown): ")
    let check = try desk.call(VerificationRPC.checkCode, CheckCodeRequest(code: code))
    let isWayBack = check.mode == "revertEmail"
    let answer = try desk.call(
      VerificationRPC.confirmEmail,
      ConfirmEmailRequest(code: code, idToken: isWayBack ? "" : try desk.session().idToken))
    guard answer.session != nil else {
      return Report(
        ["The account has the address \(printable(answer.email)) again. Every session of it is over."],
        [JSONMember("outcome", .string("reverted")), JSONMember("email", .string(answer.email))])
    }
    return try desk.opened(answer.session, "Confirmed \(printable(answer.email))")
  }
}

struct ResetPassword: DeskCommand {
  static let configuration = CommandConfiguration(
    commandName: "reset-password", abstract: "Have a link mailed to set a new password with, or follow it.",
    discussion: """
      latchkey reset-password --email alice@example.com --continue-uri http://localhost:3000/callback
      latchkey reset-password --code-file link.txt

      Where the service says that the account never proved the address, follow the link again with --claim-address.
      """)

  @Option(name: .long, help: "Whose password is forgotten.")
  var email: String?

  @Option(name: .long, help: "The page that the link leads to; one that the service knows.")
  var continueURI: String?

  @Option(name: .long, help: ArgumentHelp("Of the message, such as de.", valueName: "language"))
  var locale = ""

  @Option(
    name: .long,
    help: ArgumentHelp("Where the link that was mailed, or its code, stands; - is standard input.", valueName: "file"))
  var codeFile: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Where the new password stands; - is standard input. (the password in $LATCHKEY_PASSWORD, or asked for)",
      valueName: "file"))
  var passwordFile: String?

  @Flag(name: .long, help: "Take the address from an account that has never proved it; with --code-file.")
  var claimAddress = false

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard (email == nil) != (codeFile == nil), (email == nil) == (continueURI == nil) else {
      throw ValidationError("Give --email with --continue-uri, or --code-file.")
    }
    guard !claimAddress || codeFile != nil else { throw ValidationError("--claim-address goes with --code-file.") }
  }

  func perform(_ desk: Desk) throws -> Report {
    if let email { return try send(to: email, desk) }
    let code = try SentCode.read("--code-file", file: codeFile, prompt: "The link that was mailed (not shown): ")
    let check = try desk.call(VerificationRPC.checkCode, CheckCodeRequest(code: code))
    let password = try CredentialOptions.password(file: passwordFile, of: check.email, isNew: true).read()
    let answer = try desk.call(
      VerificationRPC.resetPassword,
      ResetPasswordRequest(code: code, newPassword: password, claimAddress: claimAddress))
    var lines = [
      answer.isNewAccount
        ? "\(printable(answer.email)) belongs to a new account with this password. The other account is without it."
        : "The password of \(printable(answer.email)) is set. Every session of the account is over."
    ]
    if !answer.revokedProviderIDs.isEmpty {
      lines.append("Removed, since nobody had proved it: \(answer.revokedProviderIDs.joined(separator: ", ")).")
    }
    return Report(lines, [
      JSONMember("outcome", .string("reset")), JSONMember("email", .string(answer.email)),
      JSONMember("revoked_provider_ids", .strings(answer.revokedProviderIDs)),
      JSONMember("is_new_account", .bool(answer.isNewAccount)),
    ])
  }

  private func send(to email: String, _ desk: Desk) throws -> Report {
    let answer = try desk.call(
      VerificationRPC.sendPasswordReset,
      SendPasswordResetRequest(email: email, continueURI: continueURI ?? "", locale: locale))
    return desk.sent(
      "If \(printable(email)) has an account, a link was mailed to it.", answer.expiresAtMillis,
      then: "reset-password", "--code-file", "FILE")
  }
}
