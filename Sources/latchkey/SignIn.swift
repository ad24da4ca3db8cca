import ArgumentParser
import Tokens
import API

struct SignUp: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "sign-up", abstract: "Create an account with an email address and a password, and sign in.",
    discussion: """
      latchkey sign-up --email alice@example.com
      latchkey sign-up --email alice@example.com --password-file - < password.txt

      A service that requires a verified email address sends a link first:

      latchkey sign-up --email alice@example.com \\
        --continue-uri http://localhost:3000/callback
      latchkey sign-up --email alice@example.com --code-file link.txt
      """)

  @Option(name: .long, help: "Email address of the account.")
  var email: String

  @OptionGroup var password: PasswordOptions

  @Option(name: .long, help: "Display name.")
  var displayName = ""

  @Option(name: .long, help: "Page that the link opens; one of the caller's redirect_uris.")
  var continueURI = ""

  @Option(name: .long, help: ArgumentHelp("Language of the email, such as de.", valueName: "language"))
  var locale = ""

  @Option(
    name: .long,
    help: ArgumentHelp("File with the link or its code; - for standard input.", valueName: "file"))
  var codeFile: String?

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let code = try codeFile.map { try SentCode.read("--code-file", file: $0, prompt: "") } ?? ""
    let password = try self.password.source(of: email, isNew: true).read()
    let answer = try context.call(
      AccountRPC.create,
      CreateRequest(
        email: email, password: password, displayName: displayName, continueURI: continueURI, locale: locale,
        code: code))
    switch answer.outcome {
    case .session(let session): return try context.opened(session, "Signed up")
    case .verificationSent(let sent):
      return context.sent(
        "A link was sent to \(printable(email)).", sent.expiresAtMillis,
        then: "sign-up", "--email", email, "--code-file", "FILE")
    case nil: throw Ending.unknownAnswer
    }
  }
}

struct SignIn: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "sign-in", abstract: "Sign in, and store the session.",
    discussion: """
      Sign in with a password, a provider's token or pages, a code, a link or a custom token, or anonymously:

        latchkey sign-in --email alice@example.com
        latchkey sign-in --provider oidc.corp --id-token-file token.jwt
        latchkey sign-in --provider twitter.com --access-token-file token.txt \\
          --token-secret-file secret.txt
        latchkey sign-in --flow         # after latchkey start
        latchkey sign-in --phone-code   # after send-phone-code
        latchkey sign-in --email-link alice@example.com   # after send-email-link
        latchkey sign-in --custom-token-file token.jwt
        latchkey sign-in --anonymous

      If the email address of a provider's token already belongs to an account, the sign-in does not complete (exit \
      code 4), and the credential stays pending. Sign in as the owner to link it in the same step:

        latchkey sign-in --email alice@example.com --pending

      If link reports that a credential belongs to another account, --pending alone signs in to that account.
      """)

  @OptionGroup(title: "Credential") var credential: CredentialOptions

  @Flag(name: .long, help: "Sign in to a new anonymous account.")
  var anonymous = false

  @OptionGroup(title: "Pending credential") var pending: PendingOptions

  @Flag(name: .long, help: "Do not create an account.")
  var existingOnly = false

  @Flag(name: .long, help: "Take the credential's verified email address from an account that has never verified it.")
  var claimAddress = false

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let held = try pending.token(context)
    guard let presented = try presented(context, held: held) else {
      throw Ending.usage("sign-in", "give a credential (see latchkey help sign-in) or --pending")
    }
    var request = SignInRequest(
      credential: presented, existingOnly: existingOnly, binding: try context.binding(), claimAddress: claimAddress)
    if let held, presented.kind != .pendingToken(held) { request.pendingToken = held }
    let answer = try context.call(AuthRPC.signIn, request)
    switch answer.outcome {
    case .session(let session): return try context.opened(session, "Signed in", completed: held != nil)
    case .accountExists(let exists): throw try context.accountExists(exists)
    case .secondFactorRequired(let required): throw try context.secondFactor(required)
    case nil: throw Ending.unknownAnswer
    }
  }

  private func presented(_ context: CommandContext, held: String?) throws -> Credential? {
    let given = try credential.credential(context)
    guard !anonymous || (given == nil && held == nil) else {
      throw Ending.usage("--anonymous", "give no other credential with this option")
    }
    if anonymous { return Credential(kind: .anonymous(AnonymousCredential())) }
    return given ?? held.map { Credential(kind: .pendingToken($0)) }
  }
}
