import ArgumentParser
import API

/// What a person can present: exactly one kind.
struct CredentialOptions: ParsableArguments {
  @Option(name: .long, help: ArgumentHelp("By password: the account's address.", valueName: "address"))
  var email: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Where the password stands; - is standard input. (the password in $LATCHKEY_PASSWORD, or asked for)",
      valueName: "file"))
  var passwordFile: String?

  @Option(name: .long, help: ArgumentHelp("By a token of this provider.", valueName: "provider"))
  var provider: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Where the provider's ID token stands; - is standard input. (the token in $LATCHKEY_ID_TOKEN)",
      valueName: "file"))
  var idTokenFile: String?

  @Option(
    name: .long,
    help: ArgumentHelp("Where the provider's access token stands; - is standard input.", valueName: "file"))
  var accessTokenFile: String?

  @Option(
    name: .long,
    help: ArgumentHelp("Where the secret of an OAuth 1.0a access token stands.", valueName: "file"))
  var tokenSecretFile: String?

  @Option(name: .long, help: ArgumentHelp("The nonce whose hash the ID token has.", valueName: "text"))
  var nonce: String?

  @Option(
    name: .long,
    help: ArgumentHelp("By a custom token: where it stands; - is standard input.", valueName: "file"))
  var customTokenFile: String?

  @Flag(name: .long, help: "By the code that latchkey send-phone-code had sent.")
  var phoneCode = false

  @Option(
    name: .long,
    help: ArgumentHelp("By the link that was mailed to this address.", valueName: "address"))
  var emailLink: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Where the code, or the whole mailed link, stands; - is standard input. (asked for)", valueName: "file"))
  var codeFile: String?

  @Flag(name: .long, help: "By the redirect that ended the flow which latchkey start began.")
  var flow = false

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Where the redirect's address stands; - is standard input. (asked for)", valueName: "file"))
  var callbackFile: String?

  func validate() throws {
    let ways = [email, provider, customTokenFile, emailLink].compactMap(\.self).count
    guard ways + (flow ? 1 : 0) + (phoneCode ? 1 : 0) <= 1 else {
      throw ValidationError(
        "--email, --provider, --custom-token-file, --phone-code, --email-link and --flow are six ways: give one.")
    }
    guard codeFile == nil || phoneCode || emailLink != nil else {
      throw ValidationError("--code-file needs --phone-code or --email-link.")
    }
    guard callbackFile == nil || flow else { throw ValidationError("--callback-file needs --flow.") }
    guard accessTokenFile == nil && tokenSecretFile == nil || provider != nil else {
      throw ValidationError("--access-token-file and --token-secret-file need --provider.")
    }
    guard passwordFile == nil || email != nil else { throw ValidationError("--password-file needs --email.") }
    guard idTokenFile == nil && nonce == nil || provider != nil else {
      throw ValidationError("--id-token-file and --nonce need --provider.")
    }
  }

  /// nil: none was given.
  func credential(_ desk: Desk) throws -> Credential? {
    if let email {
      let password = try CredentialOptions.password(file: passwordFile, of: email).read()
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
    if flow { return try response(desk) }
    if phoneCode { return try phoneCode(desk) }
    if let emailLink {
      let code = try SentCode.read("--code-file", file: codeFile, prompt: "The link that was mailed (not shown): ")
      return Credential(kind: .emailLink(EmailLinkCredential(email: emailLink, code: code)))
    }
    guard let customTokenFile else { return nil }
    let token = try SecretSource(option: "--custom-token-file", file: customTokenFile).read()
    return Credential(kind: .customToken(CustomTokenCredential(token: token)))
  }

  private func phoneCode(_ desk: Desk) throws -> Credential {
    guard let sent = try desk.profile().code else {
      throw Ending.usage("--phone-code", "no code was sent for the profile \(desk.common.profileName)")
    }
    let code = try SecretSource(option: "--code-file", file: codeFile, prompt: "The code (not shown): ").read()
    return Credential(kind: .phoneCode(PhoneCodeCredential(verificationID: sent.token, code: code)))
  }

  private func response(_ desk: Desk) throws -> Credential {
    let source = SecretSource(
      option: "--callback-file", file: callbackFile, prompt: "The address that the browser ended at (not shown): ")
    // First, because in a pipeline the flow may only be started while its callback is waited for.
    let callbackURI = try source.read()
    guard let begun = try desk.profile().flow else {
      throw Ending.usage("--flow", "no flow was started for the profile \(desk.common.profileName)")
    }
    return Credential(
      kind: .authorizationResponse(AuthorizationResponse(flowID: begun.token, callbackURI: callbackURI)))
  }

  static func password(file: String?, of email: String, isNew: Bool = false) -> SecretSource {
    SecretSource(
      option: "--password-file", file: file, variable: "LATCHKEY_PASSWORD",
      prompt: "\(isNew ? "New password" : "Password") of \(printable(email)): ", isNew: isNew)
  }
}

/// A credential that the service holds since an earlier command.
struct PendingOptions: ParsableArguments {
  @Flag(name: .long, help: "What the service holds since the last conflict of this profile.")
  var pending = false

  @Option(
    name: .long,
    help: ArgumentHelp("A pending token: where it stands; - is standard input.", valueName: "file"))
  var pendingTokenFile: String?

  func validate() throws {
    guard !pending || pendingTokenFile == nil else {
      throw ValidationError("--pending and --pending-token-file are two ways: give one.")
    }
  }

  /// nil: none was asked for.
  func token(_ desk: Desk) throws -> String? {
    if let pendingTokenFile {
      return try SecretSource(option: "--pending-token-file", file: pendingTokenFile).read()
    }
    guard pending else { return nil }
    guard let held = try desk.profile().pending else {
      throw Ending.usage("--pending", "nothing is held for the profile \(desk.common.profileName)")
    }
    return held.token
  }
}
