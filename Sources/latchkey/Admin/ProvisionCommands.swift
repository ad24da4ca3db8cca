import API
import ArgumentParser
import Client
import Encodings
import Tokens

struct CreateAccount: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "create-account", abstract: "Create an account for a user.",
    discussion: """
      latchkey create-account --email alice@example.com --verified \\
        --display-name Alice
      latchkey create-account --id user-17 --email bob@example.com --password-file -

      Give --id to make a repeat safe: it fails instead of creating a second account.
      """)

  @Option(name: .long, help: "Account ID; the server chooses one by default.") var id = ""
  @Option(name: .long, help: "Email address.") var email = ""
  @Flag(name: .long, help: "The email address is verified.") var verified = false
  @Option(name: .long, help: "Phone number, such as +49….") var phone = ""
  @Option(name: .long, help: "Display name.") var displayName = ""
  @Option(name: .long, help: ArgumentHelp("URL of the photo.", valueName: "url")) var photoURL = ""
  @Option(name: .long, help: ArgumentHelp("File with the password; - for standard input.", valueName: "file"))
  var passwordFile: String?
  @Option(name: .long, help: "JSON object of custom claims.") var claims = ""
  @Flag(name: .long, help: "Create the account disabled.") var disabled = false

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let password = try passwordFile.map { try SecretSource(option: "--password-file", file: $0).read() }
    let answer = try context.call(
      AdminRPC.createAccount,
      CreateAccountRequest(
        accountID: id, email: email, emailVerified: verified, phoneNumber: phone, displayName: displayName,
        photoURL: photoURL, password: password ?? "", disabled: disabled, customClaimsJSON: claims))
    return try context.report(answer.account, "Created")
  }
}

struct UpdateAccount: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "update-account", abstract: "Change fields of an account, also its email address and password.",
    discussion: """
      latchkey update-account ID --email alice@new.example.com --verified yes
      latchkey update-account ID --phone ''             # removes the phone number
      latchkey update-account ID --password-file -

      A new email address or password ends all sessions of the account.
      """)

  @Argument(help: "Account ID.") var id: String

  @Option(name: .long, help: "New email address; empty to remove it.") var email: String?
  @Option(name: .long, help: "Whether the email address is verified.") var verified: YesOrNo?
  @Option(name: .long, help: "New phone number, such as +49…; empty to remove it.") var phone: String?
  @Option(name: .long, help: "New display name; empty to remove it.") var displayName: String?
  @Option(name: .long, help: ArgumentHelp("New URL of the photo; empty to remove it.", valueName: "url"))
  var photoURL: String?
  @Option(name: .long, help: "Whether the account is disabled.") var disabled: YesOrNo?
  @Option(name: .long, help: ArgumentHelp("File with the new password; - for standard input.", valueName: "file"))
  var passwordFile: String?
  @Flag(name: .long, help: "Remove the password.") var removePassword = false

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard passwordFile == nil || !removePassword else {
      throw ValidationError("Give only one of --password-file and --remove-password.")
    }
    guard !paths.isEmpty else { throw ValidationError("Give at least one option that changes the account.") }
  }

  private var paths: [String] {
    let wanted = [
      ("email", email != nil), ("email_verified", verified != nil), ("phone_number", phone != nil),
      ("display_name", displayName != nil), ("photo_url", photoURL != nil), ("disabled", disabled != nil),
      ("password", passwordFile != nil || removePassword),
    ]
    return wanted.filter(\.1).map(\.0)
  }

  func perform(_ context: CommandContext) throws -> Report {
    let account = Account(
      email: email ?? "", emailVerified: verified == .yes, phoneNumber: phone ?? "", displayName: displayName ?? "",
      photoURL: photoURL ?? "", disabled: disabled == .yes)
    let password = try passwordFile.map { try SecretSource(option: "--password-file", file: $0).read() }
    let answer = try context.call(
      AdminRPC.updateAccount,
      UpdateAccountRequest(
        accountID: id, account: account, updateMask: FieldMask(paths: paths), password: password ?? ""))
    return try context.report(answer.account, "Changed")
  }
}

enum YesOrNo: String, CaseIterable, ExpressibleByArgument {
  case yes
  case no
}

struct LinkIdentity: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "link-identity", abstract: "Link a user at a provider to an account.",
    discussion: "latchkey link-identity ID google.com 1234567890 --email alice@example.com")

  @Argument(help: "Account ID.") var id: String
  @Argument(help: "Provider ID.") var provider: String
  @Argument(help: "The user's ID at the provider.") var subject: String
  @Option(name: .long, help: "The user's email address at the provider.") var email = ""

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(
      AdminRPC.linkIdentity,
      LinkIdentityRequest(accountID: id, providerID: provider, subject: subject, email: email))
    var report = try context.report(
      answer.account, answer.alreadyLinked ? "Linked before" : "Linked \(printable(provider))")
    report.members.append(JSONMember("already_linked", .bool(answer.alreadyLinked)))
    return report
  }
}

struct SetFactors: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "set-factors", abstract: "Replace the second factors of an account, and end its sessions.",
    discussion: """
      latchkey set-factors ID --phone +4915112345678
      latchkey set-factors ID --keep FACTOR_ID --totp-secret-file secret.txt
      latchkey set-factors ID                # removes all, as remove-factors does

      The account has exactly the given factors afterwards. The secret of an authenticator app is in base32.
      """)

  @Argument(help: "Account ID.") var id: String
  @Option(name: .long, help: "ID of a factor to keep; repeatable.") var keep: [String] = []
  @Option(name: .long, help: "Phone number of a factor, such as +49…; repeatable.") var phone: [String] = []
  @Option(name: .long, help: ArgumentHelp("File with the secret; - for standard input.", valueName: "file"))
  var totpSecretFile: String?

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    var factors = keep.map { SecondFactorSetting(factorID: $0) }
    factors += phone.map { SecondFactorSetting(secret: .phoneNumber($0)) }
    if let totpSecretFile {
      let text = try SecretSource(option: "--totp-secret-file", file: totpSecretFile).read()
      guard let secret = Base32.decode(text) else { throw Ending.usage("--totp-secret-file", "it is not base32") }
      factors.append(SecondFactorSetting(secret: .totpSecret(secret)))
    }
    let answer = try context.call(
      AdminRPC.setSecondFactors, SetSecondFactorsRequest(accountID: id, factors: factors))
    var report = try context.report(answer.account, "Second factors set")
    let left = answer.account?.secondFactors ?? []
    report.lines += left.map { "  Factor: \(printable($0.factorID)) \($0.kind?.word ?? "")" }
    report.members.append(JSONMember("factor_ids", .strings(left.map(\.factorID))))
    return report
  }
}

struct EmailLink: ServiceCommand {
  enum Mode: String, CaseIterable, ExpressibleByArgument {
    case signIn = "sign-in"
    case verify
    case reset
    case change

    var onTheWire: CodeMode {
      switch self {
      case .signIn: .signIn
      case .verify: .verifyEmail
      case .reset: .resetPassword
      case .change: .changeEmail
      }
    }
  }

  static let configuration = CommandConfiguration(
    commandName: "email-link", abstract: "Print a link for a user instead of mailing it.",
    discussion: """
      latchkey email-link reset alice@example.com --for app \\
        --continue-uri https://app.example.com/action
      latchkey email-link change alice@new.example.com --id ID --for app \\
        --continue-uri https://app.example.com/action

      Whoever opens a sign-in or reset link controls the account. The caller needs the right email_links.
      """)

  @Argument(help: "What the link is for.") var mode: Mode
  @Argument(help: "Email address; for change, the new one.") var email: String
  @Option(name: .long, help: "Account ID, for change only.") var id = ""
  @Option(name: .long, help: "Page of the link; one of the redirect_uris of the redeeming caller.")
  var continueURI: String
  @Option(name: .customLong("for"), help: "Name of the caller that redeems the link; this one by default.")
  var redeemer = ""

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(
      AdminRPC.createEmailLink,
      CreateEmailLinkRequest(
        mode: mode.onTheWire, email: email, accountID: id, continueURI: continueURI, caller: redeemer))
    return Report([answer.link], [
      JSONMember("link", .string(answer.link)), JSONMember("expires_at", .moment(answer.expiresAtMillis)),
    ])
  }
}

struct Invite: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "Create an account for a user, and mail the link by which the user enters it.",
    discussion: """
      latchkey invite alice@example.com --for app \\
        --continue-uri https://app.example.com/action

      Run it again to send another link. The link sets the first password; with --sign-in, it signs in.
      """)

  @Argument(help: "Email address of the user.") var email: String
  @Option(name: .long, help: "Page of the link; one of the redirect_uris of the redeeming caller.")
  var continueURI: String
  @Option(name: .customLong("for"), help: "Name of the caller that redeems the link; this one by default.")
  var redeemer = ""
  @Flag(name: .long, help: "Send a sign-in link.") var signIn = false
  @Option(name: .long, help: "Name of the user.") var displayName = ""
  @Option(name: .long, help: ArgumentHelp("Language of the email, such as de.", valueName: "language"))
  var locale = ""

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(
      AdminRPC.invite,
      InviteRequest(
        email: email, mode: signIn ? .signIn : .resetPassword, continueURI: continueURI, locale: locale,
        caller: redeemer, displayName: displayName))
    let until = answer.expiresAtMillis.map(rfc3339) ?? "it expires"
    return Report(["Invited \(printable(email)) to the account \(printable(answer.accountID)) until \(until)."], [
      JSONMember("account_id", .string(answer.accountID)), JSONMember("is_new_account", .bool(answer.isNewAccount)),
      JSONMember("expires_at", .moment(answer.expiresAtMillis)),
    ])
  }
}

struct ForgetAccount: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "forget-account", abstract: "Free the ID of a removed account for a new one.",
    discussion: "latchkey forget-account ID")

  @Argument(help: "ID of a removed account.") var id: String

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(AdminRPC.forgetAccount, ForgetAccountRequest(accountID: id))
    let until = answer.idTokensExpireAtMillis.map(rfc3339) ?? ""
    return Report([
      "Free: \(printable(id)).",
      "  Services that verify ID tokens by themselves accept those of the removed account until \(until).",
    ], [
      JSONMember("outcome", .string("forgotten")), JSONMember("account_id", .string(id)),
      JSONMember("id_tokens_expire_at", .moment(answer.idTokensExpireAtMillis)),
    ])
  }
}
