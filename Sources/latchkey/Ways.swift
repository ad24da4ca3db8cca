import ArgumentParser
import Encodings
import Reactor
import Tokens
import API

struct Providers: DeskCommand {
  static let configuration = CommandConfiguration(
    commandName: "providers", abstract: "Say how the owner of an address, or of what is held, can sign in.",
    discussion: """
      latchkey providers --email alice@example.com
      latchkey providers --pending

      By address the answer is the same for everybody, unless the calling service has the right to look up addresses.
      """)

  @Option(name: .long, help: "Whose owner is asked about.")
  var email: String?

  @OptionGroup(title: "What is held") var pending: PendingOptions

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let held = try pending.token(desk)
    guard (email == nil) != (held == nil) else {
      throw Ending.usage("providers", "give --email, --pending or --pending-token-file")
    }
    let subject = held.map(FetchProvidersRequest.Subject.pendingToken) ?? email.map { .email($0) }
    let answer = try desk.call(
      AuthRPC.fetchProviders, FetchProvidersRequest(subject: subject, binding: try desk.binding()))
    return report(answer)
  }

  private func report(_ answer: FetchProvidersResponse) -> Report {
    let methods = answer.signInMethods.map(printable).joined(separator: ", ")
    let untold = answer.methodsMailed
      ? "The ways of signing in were mailed to the account's address."
      : "No way of signing in is known, or none is told."
    var lines = [methods.isEmpty ? untold : "Sign in by: \(methods)."]
    var members = [
      JSONMember("registered", .bool(answer.registered)), JSONMember("provider_ids", .strings(answer.providerIDs)),
      JSONMember("sign_in_methods", .strings(answer.signInMethods)),
      JSONMember("methods_mailed", .bool(answer.methodsMailed)),
    ]
    if let pending = answer.pending {
      let until = pending.expiresAtMillis.map(rfc3339) ?? "the service forgets it"
      lines.append("Held: \(printable(pending.providerID)), \(printable(pending.email)), until \(until).")
      members.append(JSONMember("pending", .object([
        JSONMember("purpose", .string(pending.purpose)), JSONMember("provider_id", .string(pending.providerID)),
        JSONMember("email", .string(pending.email)), JSONMember("expires_at", .moment(pending.expiresAtMillis)),
      ])))
    }
    return Report(lines, members)
  }
}

struct Link: DeskCommand {
  static let configuration = CommandConfiguration(
    abstract: "Add a way of signing in to your account.",
    discussion: """
      latchkey link --provider oidc.corp --id-token-file token.jwt
      latchkey link --email alice@example.com      # a password for an account that has none
      latchkey link --pending                      # what the service holds since a conflict
      """)

  @OptionGroup(title: "Credential") var credential: CredentialOptions

  @OptionGroup(title: "What is held") var pending: PendingOptions

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let held = try pending.token(desk)
    let given = try credential.credential(desk)
    guard (given == nil) != (held == nil), let presented = given ?? held.map({ Credential(kind: .pendingToken($0)) })
    else {
      throw Ending.usage("link", "give one of the credentials of latchkey help link, --pending or --pending-token-file")
    }
    let answer = try desk.call(
      AuthRPC.link,
      LinkRequest(idToken: try desk.session().idToken, credential: presented, binding: try desk.binding()))
    switch answer.outcome {
    case .session(let session):
      var report = try desk.opened(
        session, answer.alreadyLinked ? "Was linked before" : "Linked", completed: held != nil)
      report.members.append(JSONMember("already_linked", .bool(answer.alreadyLinked)))
      return report
    case .credentialInUse(let inUse): throw try desk.credentialInUse(inUse)
    case .secondFactorRequired(let required): throw try desk.secondFactor(required)
    case nil: throw Ending.unknownAnswer
    }
  }
}

struct Unlink: DeskCommand {
  static let configuration = CommandConfiguration(
    abstract: "Remove a way of signing in from your account.",
    discussion: """
      latchkey unlink oidc.corp
      latchkey unlink password

      The last way in stays, and the service may want to know once more who you are (latchkey reauthenticate).
      """)

  @Argument(help: "The provider, as whoami names it.")
  var provider: String

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let answer = try desk.call(
      AuthRPC.unlink, UnlinkRequest(idToken: try desk.session().idToken, providerID: provider))
    return try desk.opened(answer.session, "Unlinked \(printable(provider))")
  }
}

struct Reauthenticate: DeskCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prove once more that you are the account's owner.",
    discussion: """
      latchkey reauthenticate --email alice@example.com
      latchkey reauthenticate --provider oidc.corp --id-token-file token.jwt

      What cannot be undone, such as unlink and delete, wants a proof that is a few minutes old at most.
      """)

  @OptionGroup(title: "Credential") var credential: CredentialOptions

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    guard let presented = try credential.credential(desk) else {
      throw Ending.usage("reauthenticate", "give one of the credentials of latchkey help reauthenticate")
    }
    let answer = try desk.call(
      AuthRPC.reauthenticate,
      ReauthenticateRequest(idToken: try desk.session().idToken, credential: presented, binding: try desk.binding()))
    switch answer.outcome {
    case .session(let session): return try desk.opened(session, "Proved")
    case .secondFactorRequired(let required): throw try desk.secondFactor(required)
    case nil: throw Ending.unknownAnswer
    }
  }
}
