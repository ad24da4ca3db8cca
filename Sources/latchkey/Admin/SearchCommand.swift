import API
import ArgumentParser
import Client
import Encodings
import Reactor
import Tokens

struct SearchCommand: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "search", abstract: "Find accounts by a part of their email address, name, phone or provider's ID.",
    discussion: """
      latchkey search alice
      latchkey search @example.com --unverified
      latchkey search --provider google.com --created-from 2026-01-01T00:00:00Z

      The server needs store.search in its configuration. Shows one page and the command for the next.
      """)

  @Argument(help: "At least 3 characters; without it, the filters alone decide.") var query = ""

  @Flag(name: .long, help: "Only disabled accounts.") var disabled = false
  @Flag(name: .long, help: "Only accounts without a verified email address.") var unverified = false
  @Option(name: .long, help: "Only accounts with this provider, password, phone or emailLink.") var provider = ""
  @Option(name: .long, help: ArgumentHelp("Only accounts created from this time on.", valueName: "time"))
  var createdFrom: Moment?
  @Option(name: .long, help: ArgumentHelp("Only accounts created before this time.", valueName: "time"))
  var createdBefore: Moment?
  @Option(name: .long, help: ArgumentHelp("Only accounts with a sign-in from this time on.", valueName: "time"))
  var signedInFrom: Moment?
  @Option(name: .long, help: ArgumentHelp("Only accounts without a sign-in since this time.", valueName: "time"))
  var notSignedInSince: Moment?
  @Option(name: .long, help: "Accounts on a page, 1 to 100.") var size: UInt16 = 20
  @Option(name: .long, help: "Page token from the previous page.") var pageToken = ""

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(
      AdminRPC.search,
      SearchRequest(
        query: query, disabled: disabled, unverified: unverified, providerID: provider,
        createdFromMillis: createdFrom?.millis, createdBeforeMillis: createdBefore?.millis,
        lastSignInFromMillis: signedInFrom?.millis, lastSignInBeforeMillis: notSignedInSince?.millis,
        pageToken: pageToken, pageSize: Int32(size)))
    var lines = answer.accounts.map { account in
      let states = (account.disabled ? " disabled" : "") + (account.emailVerified ? "" : " unverified")
      let email = account.email.isEmpty ? "-" : printable(account.email)
      return "\(printable(account.accountID)) \(email) \(printable(account.displayName))\(states)"
    }
    if lines.isEmpty { lines = ["No accounts on this page."] }
    if answer.match == .beginning {
      lines.append("The database has no trigram index: only the beginning of a field was compared.")
    }
    if !answer.nextPageToken.isEmpty { lines.append("More: repeat with --page-token \(answer.nextPageToken)") }
    return Report(lines, [
      JSONMember("accounts", .array(answer.accounts.map(\.administratorsJSON))),
      JSONMember("next_page_token", .string(answer.nextPageToken)), JSONMember("match", .lowercaseWord(answer.match)),
    ])
  }
}

/// A time in RFC 3339, as an argument.
struct Moment: ExpressibleByArgument {
  let millis: Int64

  init?(argument: String) {
    guard let millis = moment(ofRFC3339: argument) else { return nil }
    self.millis = millis
  }
}

struct ExportAccount: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "export-account", abstract: "Print everything that is kept about one account, as JSON.",
    discussion: "latchkey export-account ID > user.json          # umask 077 first")

  @Argument(help: "Account ID.") var id: String

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    var isBegun = false
    try context.stream(AdminRPC.exportAccount, ExportAccountRequest(accountID: id)) { answer in
      isBegun = true
      try tryWriteOutput(Array(answer.jsonPart.utf8))
      return true
    }
    if isBegun { try tryWriteOutput([UInt8(ascii: "\n")]) }
    return Report([], [])
  }

  /// The document is the whole output, also with --json.
  func run() throws {
    try showEnding(asJSON: common.json) { _ = try perform(CommandContext(common)) }
  }
}
