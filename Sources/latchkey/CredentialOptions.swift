import ArgumentParser
import API

/// The options for a credential of one kind.
struct CredentialOptions: ParsableArguments {
  @Option(name: .long, help: ArgumentHelp("Use a password: the account's email address.", valueName: "address"))
  var email: String?

  @OptionGroup var password: PasswordOptions

  @Option(name: .long, help: ArgumentHelp("Use a token of this provider.", valueName: "provider"))
  var provider: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "File with the provider's ID token; - for standard input. (default: the token in $LATCHKEY_ID_TOKEN)",
      valueName: "file"))
  var idTokenFile: String?

  @Option(
    name: .long,
    help: ArgumentHelp("File with the provider's access token; - for standard input.", valueName: "file"))
  var accessTokenFile: String?

  @Option(
    name: .long,
    help: ArgumentHelp("File with the secret of an OAuth 1.0a access token.", valueName: "file"))
  var tokenSecretFile: String?

  @Option(name: .long, help: ArgumentHelp("Nonce whose hash the ID token contains.", valueName: "text"))
  var nonce: String?

  @Option(
    name: .long,
    help: ArgumentHelp("Use a custom token: file with the token; - for standard input.", valueName: "file"))
  var customTokenFile: String?

  @Flag(name: .long, help: "Use the code sent by latchkey send-phone-code.")
  var phoneCode = false

  @Flag(name: .long, help: "Use the code sent by latchkey send-email-code.")
  var emailCode = false

  @Option(
    name: .long,
    help: ArgumentHelp("Use a sign-in link sent to this email address.", valueName: "address"))
  var emailLink: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "File with the code or the sign-in link; - for standard input. (default: prompt)", valueName: "file"))
  var codeFile: String?

  @Flag(name: .long, help: "Use the redirect at the end of the flow begun by latchkey start.")
  var flow = false

  @Option(
    name: .long,
    help: ArgumentHelp(
      "File with the redirect's URL; - for standard input. (default: prompt)", valueName: "file"))
  var callbackFile: String?

  func validate() throws {
    let ways = [email, provider, customTokenFile, emailLink].compactMap(\.self).count
    guard ways + [flow, phoneCode, emailCode].count(where: \.self) <= 1 else {
      throw ValidationError(
        "Give only one of --email, --provider, --custom-token-file, --phone-code, --email-code, --email-link and "
          + "--flow.")
    }
    guard codeFile == nil || phoneCode || emailCode || emailLink != nil else {
      throw ValidationError("--code-file requires --phone-code, --email-code or --email-link.")
    }
    guard callbackFile == nil || flow else { throw ValidationError("--callback-file requires --flow.") }
    guard accessTokenFile == nil && tokenSecretFile == nil || provider != nil else {
      throw ValidationError("--access-token-file and --token-secret-file require --provider.")
    }
    guard password.passwordFile == nil || email != nil else { throw ValidationError("--password-file needs --email.") }
    guard idTokenFile == nil && nonce == nil || provider != nil else {
      throw ValidationError("--id-token-file and --nonce require --provider.")
    }
  }

  /// Returns the credential, or nil if no option is given.
  func credential(_ context: CommandContext) throws -> Credential? {
    if let email {
      let password = try self.password.source(of: email).read()
      return Credential(kind: .password(PasswordCredential(email: email, password: password)))
    }
    if let provider {
      var token = ProviderTokenCredential(providerID: provider, rawNonce: nonce ?? "")
      if let accessTokenFile {
        token.accessToken = try SecretSource(option: "--access-token-file", file: accessTokenFile).read()
      }
      if let tokenSecretFile {
        token.tokenSecret = try SecretSource(option: "--token-secret-file", file: tokenSecretFile).read()
      }
      if token.accessToken.isEmpty || idTokenFile != nil {
        let source = SecretSource(option: "--id-token-file", file: idTokenFile, variable: "LATCHKEY_ID_TOKEN")
        token.idToken = try source.read()
      }
      return Credential(kind: .providerToken(token))
    }
    if flow { return try response(context) }
    if phoneCode {
      let (sent, code) = try context.sentCode("--phone-code", file: codeFile)
      return Credential(kind: .phoneCode(PhoneCodeCredential(verificationID: sent, code: code)))
    }
    if emailCode {
      let (sent, code) = try context.sentCode("--email-code", file: codeFile)
      return Credential(kind: .emailCode(EmailCodeCredential(verificationID: sent, code: code)))
    }
    if let emailLink {
      let code = try SentCode.read("--code-file", file: codeFile, prompt: "Link from the email (not shown): ")
      return Credential(kind: .emailLink(EmailLinkCredential(email: emailLink, code: code)))
    }
    guard let customTokenFile else { return nil }
    let token = try SecretSource(option: "--custom-token-file", file: customTokenFile).read()
    return Credential(kind: .customToken(CustomTokenCredential(token: token)))
  }

  private func response(_ context: CommandContext) throws -> Credential {
    let source = SecretSource(
      option: "--callback-file", file: callbackFile, prompt: "URL of the redirect (not shown): ")
    // Read this first. In a pipeline, the flow may start while this command waits for the callback.
    let callbackURI = try source.read()
    guard let begun = try context.profile().flow else {
      throw Ending.usage("--flow", "no flow was started for the profile \(context.common.profileName)")
    }
    return Credential(
      kind: .authorizationResponse(AuthorizationResponse(flowID: begun.token, callbackURI: callbackURI)))
  }
}

/// The source of an account's password.
struct PasswordOptions: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      "Where the password stands; - is standard input. (the password in $LATCHKEY_PASSWORD, or asked for)",
      valueName: "file"))
  var passwordFile: String?

  func source(of email: String, isNew: Bool = false) -> SecretSource {
    PasswordOptions.source(passwordFile, of: email, isNew: isNew)
  }

  static func source(_ file: String?, of email: String, isNew: Bool) -> SecretSource {
    SecretSource(
      option: "--password-file", file: file, variable: "LATCHKEY_PASSWORD",
      prompt: "\(isNew ? "New password" : "Password") of \(printable(email)): ", isNew: isNew)
  }
}

/// The options for a pending credential of an earlier command.
struct PendingOptions: ParsableArguments {
  @Flag(name: .long, help: "Use the pending credential of this profile's last conflict.")
  var pending = false

  @Option(
    name: .long,
    help: ArgumentHelp("File with a pending token; - for standard input.", valueName: "file"))
  var pendingTokenFile: String?

  func validate() throws {
    guard !pending || pendingTokenFile == nil else {
      throw ValidationError("Give only one of --pending and --pending-token-file.")
    }
  }

  /// Returns the pending token, or nil if no option is given.
  func token(_ context: CommandContext) throws -> String? {
    if let pendingTokenFile {
      return try SecretSource(option: "--pending-token-file", file: pendingTokenFile).read()
    }
    guard pending else { return nil }
    guard let held = try context.profile().pending else {
      throw Ending.usage("--pending", "the profile \(context.common.profileName) has no pending credential")
    }
    return held.token
  }
}
