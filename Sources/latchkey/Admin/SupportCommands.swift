import API
import ArgumentParser
import Encodings
import Protobuf
import Tokens

/// The user whom a command names: an email address, a phone number or an account ID.
enum NamedUser {
  case email(String)
  case phone(String)
  case id(String)

  init(_ text: String) {
    if text.utf8.contains(UInt8(ascii: "@")) {
      self = .email(text)
    } else if text.hasPrefix("+") {
      self = .phone(text)
    } else {
      self = .id(text)
    }
  }
}

/// An argument that names a user. An account ID that looks like an address needs --id.
struct UserArgument: ParsableArguments {
  @Argument(help: "Email address, phone number such as +49…, or account ID.") var user: String
  @Flag(name: .long, help: "The argument is an account ID, even with an @ or a leading +.") var id = false

  var named: NamedUser { id ? .id(user) : NamedUser(user) }
}

struct Why: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "Explain why a user cannot sign in.",
    discussion: """
      latchkey why alice@example.com
      latchkey why ID --json

      The first line states the most probable cause, the second what to do. Then follow the account, its sign-in \
      methods, blocks, failed attempts, messages, pending credentials and sessions.
      """)

  @OptionGroup var user: UserArgument
  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let subject: DiagnoseSignInRequest.Subject =
      switch user.named {
      case .email(let email): .email(email)
      case .phone(let number): .phoneNumber(number)
      case .id(let id): .accountID(id)
      }
    let answer = try context.call(AdminRPC.diagnoseSignIn, DiagnoseSignInRequest(subject: subject))
    return Report(lines(answer, context), [
      JSONMember("cause", .word(answer.cause)), JSONMember("summary", .string(answer.summary)),
      JSONMember("advice", .string(answer.advice)),
      JSONMember("account", answer.account.map(\.administratorsJSON) ?? .null),
      JSONMember("removed_account", answer.removedAccount.map(\.json) ?? .null),
      JSONMember("sign_in_methods", .strings(answer.signInMethods)),
      JSONMember("password_usable", .bool(answer.passwordUsable)),
      JSONMember("blocks", .array(answer.blocks.map(\.json))),
      JSONMember("failures", .array(answer.failures.map(\.json))),
      JSONMember("messages", .array(answer.messages.map(\.json))),
      JSONMember("pendings", .array(answer.pendings.map(\.json))),
      JSONMember("sessions", .array(answer.sessions.map(\.json))),
    ])
  }

  private func lines(_ answer: DiagnoseSignInResponse, _ context: CommandContext) -> [String] {
    var lines = [printable(answer.summary), printable(answer.advice)]
    if let account = answer.account {
      let states = (account.disabled ? ", disabled" : "") + (account.anonymous ? ", anonymous" : "")
      lines += ["", "Account \(printable(account.accountID))\(states)"]
      if !account.email.isEmpty {
        lines.append("  Email: \(printable(account.email)), \(account.emailVerified ? "verified" : "not verified")")
      }
      lines.append("  Sign-in methods: \(context.ways(account))")
      let enabled = answer.signInMethods.isEmpty ? "none" : answer.signInMethods.joined(separator: ", ")
      lines.append("  Enabled: \(printable(enabled))")
      if !account.secondFactors.isEmpty { lines.append("  Second factors: \(account.secondFactors.count)") }
      lines.append("  Last sign-in: \(account.lastSignInAtMillis.map(rfc3339) ?? "never")")
    } else if let removed = answer.removedAccount {
      lines += ["", "Removed: \(removed.removedAtMillis.map(rfc3339) ?? "-")"]
    }
    func list(_ title: String, _ rows: [String]) {
      guard !rows.isEmpty else { return }
      lines += ["", title] + rows.map { "  \($0)" }
    }
    list("Blocks", answer.blocks.map(\.line))
    list("Failed attempts", answer.failures.map(\.line))
    list("Messages", answer.messages.map(\.line))
    list("Pending", answer.pendings.map(\.line))
    list("Sessions", answer.sessions.map(\.line))
    return lines
  }
}

struct Events: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "List the events of an account and its failed sign-ins, the newest first.",
    discussion: """
      latchkey events alice@example.com
      latchkey events ID --since 2026-11-01T00:00:00Z --type LINKED --type UNLINKED
      latchkey events ID --failures

      Shows one page and the command for the next.
      """)

  @OptionGroup var user: UserArgument
  @Option(name: .long, help: "Only events at this time or later (RFC 3339, UTC).") var since: String?
  @Option(name: .long, help: "Only events of this type, as watch --help lists them. Repeatable.")
  var type: [String] = []
  @Flag(name: .long, help: "Only failed attempts.") var failures = false
  @Option(name: .long, help: "Events on a page, 1 to 200.") var size: UInt16 = 50
  @Option(name: .long, help: "Page token from the previous page.") var pageToken = ""

  @OptionGroup var common: CommonOptions

  func validate() throws {
    if case .phone = user.named { throw ValidationError("Give an email address or an account ID.") }
    guard since == nil || since.flatMap(moment(ofRFC3339:)) != nil else {
      throw ValidationError("--since must be a time such as 2026-11-01T00:00:00Z.")
    }
    guard type.isEmpty || !failures else { throw ValidationError("Give only one of --type and --failures.") }
  }

  func perform(_ context: CommandContext) throws -> Report {
    let types = try type.map { name in
      guard let type = EventType(name: name), type != .unspecified else {
        throw Ending.usage("--type", "\(name) is not one of the types that watch --help lists")
      }
      return type
    }
    let subject: ListEventsRequest.Subject =
      switch user.named {
      case .email(let email): .email(email)
      case .phone(let text), .id(let text): .accountID(text)
      }
    let answer = try context.call(
      AdminRPC.listEvents,
      ListEventsRequest(
        subject: subject, sinceMillis: since.flatMap(moment(ofRFC3339:)), types: types, failuresOnly: failures,
        pageSize: Int32(size), pageToken: pageToken))
    var lines = answer.events.map(\.line)
    if lines.isEmpty, answer.nextPageToken.isEmpty { lines = ["No events."] }
    if !answer.nextPageToken.isEmpty { lines.append("Next: " + next(context, answer.nextPageToken)) }
    return Report(lines, [
      JSONMember("account_id", .string(answer.accountID)), JSONMember("events", .array(answer.events.map(\.json))),
      JSONMember("next_page_token", .string(answer.nextPageToken)),
    ])
  }

  private func next(_ context: CommandContext, _ token: String) -> String {
    var words = [user.user] + (user.id ? ["--id"] : []) + (since.map { ["--since", $0] } ?? [])
    words += type.flatMap { ["--type", $0] } + (failures ? ["--failures"] : [])
    return context.proposal(["events"] + words + ["--size", "\(size)", "--page-token", token])
  }
}

struct Unlock: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "End the blocks of a user after failed attempts.",
    discussion: """
      latchkey unlock alice@example.com

      Make sure that the attempts were the user's own. Limits of networks and calling services stay.
      """)

  @OptionGroup var user: UserArgument
  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let subject: UnlockRequest.Subject =
      switch user.named {
      case .email(let email): .email(email)
      case .phone(let number): .phoneNumber(number)
      case .id(let id): .accountID(id)
      }
    let answer = try context.call(AdminRPC.unlock, UnlockRequest(subject: subject))
    let lines = answer.lifted.isEmpty ? ["No block; the counts of failed attempts start again."] : []
    return Report(lines + answer.lifted.map { "Ended: \($0.line)" }, [
      JSONMember("outcome", .string("unlocked")), JSONMember("lifted", .array(answer.lifted.map(\.json))),
    ])
  }
}

struct Messages: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "List the messages to the user of an account, the newest first.",
    discussion: """
      latchkey messages ID
      latchkey resend MESSAGE_ID               # one that waits or was given up
      """)

  @Argument(help: "Account ID.") var id: String

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(AdminRPC.listMessages, ListMessagesRequest(accountID: id))
    let lines = answer.messages.isEmpty ? ["No messages."] : answer.messages.map(\.line)
    return Report(lines, [JSONMember("messages", .array(answer.messages.map(\.json)))])
  }
}

struct Resend: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "Send a message again that waits, or that was given up and has not expired.",
    discussion: "latchkey resend MESSAGE_ID                       # messages and why show the IDs")

  @Argument(help: "Message ID.") var id: String

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(AdminRPC.resendMessage, ResendMessageRequest(messageID: id))
    guard let message = answer.message else { throw Ending.unknownAnswer }
    return Report(["Queued: \(message.line)"], [
      JSONMember("outcome", .string("queued")), JSONMember("message", message.json),
    ])
  }
}
