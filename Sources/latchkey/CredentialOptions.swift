import ArgumentParser
import Wire

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

  @Option(name: .long, help: ArgumentHelp("By an ID token of this provider.", valueName: "provider"))
  var provider: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Where the provider's ID token stands; - is standard input. (the token in $LATCHKEY_ID_TOKEN)",
      valueName: "file"))
  var idTokenFile: String?

  @Option(name: .long, help: ArgumentHelp("The nonce whose hash the ID token has.", valueName: "text"))
  var nonce: String?

  @Option(
    name: .long,
    help: ArgumentHelp("By a custom token: where it stands; - is standard input.", valueName: "file"))
  var customTokenFile: String?

  func validate() throws {
    guard [email, provider, customTokenFile].compactMap(\.self).count <= 1 else {
      throw ValidationError("--email, --provider and --custom-token-file are three ways: give one.")
    }
    guard passwordFile == nil || email != nil else { throw ValidationError("--password-file needs --email.") }
    guard idTokenFile == nil && nonce == nil || provider != nil else {
      throw ValidationError("--id-token-file and --nonce need --provider.")
    }
  }

  /// nil: none was given.
  func credential() throws -> Credential? {
    if let email {
      let password = try CredentialOptions.password(file: passwordFile, of: email).read()
      return Credential(kind: .password(PasswordCredential(email: email, password: password)))
    }
    if let provider {
      let source = SecretSource(option: "--id-token-file", file: idTokenFile, variable: "LATCHKEY_ID_TOKEN")
      return Credential(
        kind: .providerToken(
          ProviderTokenCredential(providerID: provider, idToken: try source.read(), rawNonce: nonce ?? "")))
    }
    guard let customTokenFile else { return nil }
    let token = try SecretSource(option: "--custom-token-file", file: customTokenFile).read()
    return Credential(kind: .customToken(CustomTokenCredential(token: token)))
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
