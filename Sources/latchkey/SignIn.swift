import ArgumentParser
import Tokens
import API

struct SignUp: DeskCommand {
  static let configuration = CommandConfiguration(
    commandName: "sign-up", abstract: "Make an account of an address and a password, and sign in to it.",
    discussion: """
      latchkey sign-up --email alice@example.com
      latchkey sign-up --email alice@example.com --password-file - < password.txt

      A service that makes accounts of proved addresses only mails a link first:

      latchkey sign-up --email alice@example.com --continue-uri http://localhost:3000/callback
      latchkey sign-up --email alice@example.com --code-file link.txt
      """)

  @Option(name: .long, help: "The account's address.")
  var email: String

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Where the password stands; - is standard input. (the password in $LATCHKEY_PASSWORD, or asked for)",
      valueName: "file"))
  var passwordFile: String?

  @Option(name: .long, help: "How the account's owner is called.")
  var displayName = ""

  @Option(name: .long, help: "The page that a mailed link leads to; one that the service knows.")
  var continueURI = ""

  @Option(name: .long, help: ArgumentHelp("Of the mail, such as de.", valueName: "language"))
  var locale = ""

  @Option(
    name: .long,
    help: ArgumentHelp("Where the link that was mailed, or its code, stands; - is standard input.", valueName: "file"))
  var codeFile: String?

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let code = try codeFile.map { try SentCode.read("--code-file", file: $0, prompt: "") } ?? ""
    let password = try CredentialOptions.password(file: passwordFile, of: email, isNew: true).read()
    let answer = try desk.call(
      AccountRPC.create,
      CreateRequest(
        email: email, password: password, displayName: displayName, continueURI: continueURI, locale: locale,
        code: code))
    switch answer.outcome {
    case .session(let session): return try desk.opened(session, "Signed up")
    case .verificationSent(let sent):
      return desk.sent(
        "A mail was sent to \(printable(email)).", sent.expiresAtMillis,
        then: "sign-up", "--email", email, "--code-file", "FILE")
    case nil: throw Ending.unknownAnswer
    }
  }
}

struct SignIn: DeskCommand {
  static let configuration = CommandConfiguration(
    commandName: "sign-in", abstract: "Sign in, and remember the session.",
    discussion: """
      By password, by a provider's token or pages, by a custom token, or as nobody in particular:

        latchkey sign-in --email alice@example.com
        latchkey sign-in --provider oidc.corp --id-token-file token.jwt
        latchkey sign-in --provider twitter.com --access-token-file token.txt --token-secret-file secret.txt
        latchkey sign-in --flow      # after latchkey start
        latchkey sign-in --phone-code      # after latchkey send-phone-code
        latchkey sign-in --email-link alice@example.com      # after latchkey send-email-link
        latchkey sign-in --custom-token-file token.jwt
        latchkey sign-in --anonymous

      Where the address of a provider's token belongs to an account already, nobody is signed in (exit code 4). The \
      service holds the token, and signing in as the owner links it in the same step:

        latchkey sign-in --email alice@example.com --pending

      With --pending and nothing else, you sign in to the account that a credential belongs to which Link found in use.
      """)

  @OptionGroup(title: "Credential") var credential: CredentialOptions

  @Flag(name: .long, help: "As a new account without any credential.")
  var anonymous = false

  @OptionGroup(title: "What is held") var pending: PendingOptions

  @Flag(name: .long, help: "Make no account where there is none.")
  var existingOnly = false

  @Flag(name: .long, help: "Take the proved address from an account that has never proved it.")
  var claimAddress = false

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let held = try pending.token(desk)
    guard let presented = try presented(desk, held: held) else {
      throw Ending.usage("sign-in", "give one of the credentials of latchkey help sign-in, or --pending")
    }
    var request = SignInRequest(
      credential: presented, existingOnly: existingOnly, binding: try desk.binding(), claimAddress: claimAddress)
    if let held, presented.kind != .pendingToken(held) { request.pendingToken = held }
    let answer = try desk.call(AuthRPC.signIn, request)
    switch answer.outcome {
    case .session(let session): return try desk.opened(session, "Signed in", completed: held != nil)
    case .accountExists(let exists): throw try desk.accountExists(exists)
    case .secondFactorRequired(let required): throw try desk.secondFactor(required)
    case nil: throw Ending.unknownAnswer
    }
  }

  private func presented(_ desk: Desk, held: String?) throws -> Credential? {
    let given = try credential.credential(desk)
    guard !anonymous || (given == nil && held == nil) else {
      throw Ending.usage("--anonymous", "it goes with no other credential")
    }
    if anonymous { return Credential(kind: .anonymous(AnonymousCredential())) }
    return given ?? held.map { Credential(kind: .pendingToken($0)) }
  }
}
