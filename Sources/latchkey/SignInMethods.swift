import ArgumentParser
import Encodings
import Reactor
import Tokens
import API

struct Providers: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "providers", abstract: "Show the sign-in methods of an email address or a pending credential.",
    discussion: """
      latchkey providers --email alice@example.com
      latchkey providers --pending

      For an email address, the service hides whether an account exists, unless the caller has the right fetch_by_email.
      """)

  @Option(name: .long, help: "Email address.")
  var email: String?

  @OptionGroup(title: "Pending credential") var pending: PendingOptions

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let held = try pending.token(context)
    guard (email == nil) != (held == nil) else {
      throw Ending.usage("providers", "give --email, --pending or --pending-token-file")
    }
    let subject = held.map(FetchProvidersRequest.Subject.pendingToken) ?? email.map { .email($0) }
    let answer = try context.call(
      AuthRPC.fetchProviders, FetchProvidersRequest(subject: subject, binding: try context.binding()))
    return report(answer)
  }

  private func report(_ answer: FetchProvidersResponse) -> Report {
    let methods = answer.signInMethods.map(printable).joined(separator: ", ")
    let withheld =
      answer.methodsMailed
      ? "The sign-in methods were sent to the account's email address."
      : "There are no sign-in methods, or the service does not reveal them."
    var lines = [methods.isEmpty ? withheld : "Sign-in methods: \(methods)."]
    var members = [
      JSONMember("registered", .bool(answer.registered)), JSONMember("provider_ids", .strings(answer.providerIDs)),
      JSONMember("sign_in_methods", .strings(answer.signInMethods)),
      JSONMember("methods_mailed", .bool(answer.methodsMailed)),
    ]
    if let pending = answer.pending {
      let until = pending.expiresAtMillis.map(rfc3339) ?? "it expires"
      lines.append("Pending: \(printable(pending.providerID)), \(printable(pending.email)), until \(until).")
      members.append(
        JSONMember(
          "pending",
          .object([
            JSONMember("purpose", .lowercaseWord(pending.purpose)),
            JSONMember("provider_id", .string(pending.providerID)),
            JSONMember("email", .string(pending.email)), JSONMember("expires_at", .moment(pending.expiresAtMillis)),
          ])))
    }
    return Report(lines, members)
  }
}

struct Link: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "Add a sign-in method to your account.",
    discussion: """
      latchkey link --provider oidc.corp --id-token-file token.jwt
      latchkey link --email alice@example.com   # a password, if there is none
      latchkey link --pending                     # credential of a conflict
      """)

  @OptionGroup(title: "Credential") var credential: CredentialOptions

  @OptionGroup(title: "Pending credential") var pending: PendingOptions

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let held = try pending.token(context)
    let given = try credential.credential(context)
    guard (given == nil) != (held == nil), let presented = given ?? held.map({ Credential(kind: .pendingToken($0)) })
    else {
      throw Ending.usage("link", "give a credential (see latchkey help link), --pending or --pending-token-file")
    }
    let answer = try context.call(
      AuthRPC.link,
      LinkRequest(idToken: try context.session().idToken, credential: presented, binding: try context.binding()))
    switch answer.outcome {
    case .session(let session):
      var report = try context.opened(
        session, answer.alreadyLinked ? "Already linked" : "Linked", completed: held != nil)
      report.members.append(JSONMember("already_linked", .bool(answer.alreadyLinked)))
      return report
    case .credentialInUse(let inUse): throw try context.credentialInUse(inUse)
    case .secondFactorRequired(let required): throw try context.secondFactor(required)
    case nil: throw Ending.unknownAnswer
    }
  }
}

struct Unlink: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "Remove a sign-in method from your account.",
    discussion: """
      latchkey unlink oidc.corp
      latchkey unlink password
      latchkey unlink google.com --subject 1048576   # one of several

      You cannot remove the last sign-in method. The service may require a recent sign-in (latchkey reauthenticate).
      """)

  @Argument(help: "Provider ID, as whoami shows it.")
  var provider: String

  @Option(name: .long, help: "Which identity of the provider, if the account has several.")
  var subject = ""

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let request = UnlinkRequest(idToken: try context.session().idToken, providerID: provider, subject: subject)
    let answer = try context.call(AuthRPC.unlink, request)
    return try context.opened(answer.session, "Unlinked \(printable(provider))")
  }
}

struct Reauthenticate: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "Sign in again to your account, for sensitive operations.",
    discussion: """
      latchkey reauthenticate --email alice@example.com
      latchkey reauthenticate --provider oidc.corp --id-token-file token.jwt

      Sensitive operations, such as unlink and delete, require a recent sign-in.
      """)

  @OptionGroup(title: "Credential") var credential: CredentialOptions

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    guard let presented = try credential.credential(context) else {
      throw Ending.usage("reauthenticate", "give a credential (see latchkey help reauthenticate)")
    }
    let answer = try context.call(
      AuthRPC.reauthenticate,
      ReauthenticateRequest(
        idToken: try context.session().idToken, credential: presented, binding: try context.binding()))
    switch answer.outcome {
    case .session(let session): return try context.opened(session, "Reauthenticated")
    case .secondFactorRequired(let required): throw try context.secondFactor(required)
    case nil: throw Ending.unknownAnswer
    }
  }
}
