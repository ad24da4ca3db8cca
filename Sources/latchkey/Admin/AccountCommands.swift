import ArgumentParser
import Client
import Encodings
import Reactor
import Tokens
import API

// Reports of administrator commands about an account.
extension CommandContext {
  func report(_ account: Account?, _ what: String) throws -> Report {
    guard let account else { throw Ending.unknownAnswer }
    var lines = ["\(what): account \(printable(account.accountID))\(account.disabled ? ", disabled" : "")"]
    if !account.email.isEmpty {
      lines.append("  Email: \(printable(account.email)), \(account.emailVerified ? "verified" : "not verified")")
    }
    lines.append("  Sign-in methods: \(ways(account))")
    if !account.customClaimsJSON.isEmpty { lines.append("  Claims: \(printable(account.customClaimsJSON))") }
    if let last = account.lastSignInAtMillis { lines.append("  Last sign-in: \(rfc3339(last))") }
    return Report(lines, [JSONMember("account", account.administratorsJSON)])
  }
}

extension Account {
  /// The account as JSON, including the members for administrators only.
  var administratorsJSON: JSONValue {
    .object((json.members ?? []) + [
      JSONMember("phone_number", .string(phoneNumber)), JSONMember("disabled", .bool(disabled)),
      JSONMember("custom_claims_json", .string(customClaimsJSON)),
    ])
  }
}

struct Lookup: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show one account.",
    discussion: """
      latchkey lookup --email alice@example.com
      latchkey lookup --provider google.com --subject 1234567890
      """)

  @Option(name: .long, help: "Account ID.") var id: String?
  @Option(name: .long, help: "Email address.") var email: String?
  @Option(name: .long, help: "Phone number, such as +49….") var phone: String?
  @Option(name: .long, help: "Provider, with --subject.") var provider: String?
  @Option(name: .long, help: "The user's ID at the provider.") var subject: String?

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard (provider == nil) == (subject == nil) else { throw ValidationError("Give both --provider and --subject.") }
    guard [id, email, phone, provider].compactMap(\.self).count == 1 else {
      throw ValidationError("Give --id, --email, --phone, or --provider with --subject.")
    }
  }

  func perform(_ context: CommandContext) throws -> Report {
    let named: LookupRequest.Subject? =
      id.map { .accountID($0) } ?? email.map { .email($0) } ?? phone.map { .phoneNumber($0) }
        ?? provider.map { .identity(ProviderIdentity(providerID: $0, subject: subject ?? "")) }
    let answer = try context.call(AdminRPC.lookup, LookupRequest(subject: named))
    return try context.report(answer.account, "Found")
  }
}

struct List: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "List accounts, one for each line, in the order of their IDs.",
    discussion: "Shows one page and the command for the next: latchkey list --page-token TOKEN")

  @Option(name: .long, help: "Accounts on a page, 1 to 1000.") var size: UInt16 = 100
  @Option(name: .long, help: "Page token from the previous page.") var pageToken = ""

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(
      AdminRPC.list, ListRequest(pageToken: pageToken, pageSize: Int32(size)))
    var lines = answer.accounts.map { account in
      let states = (account.disabled ? " disabled" : "") + (account.anonymous ? " anonymous" : "")
      return "\(printable(account.accountID)) \(account.email.isEmpty ? "-" : printable(account.email))\(states)"
    }
    if lines.isEmpty { lines = ["No accounts."] }
    if !answer.nextPageToken.isEmpty {
      lines.append("Next: " + context.proposal("list", "--size", "\(size)", "--page-token", answer.nextPageToken))
    }
    return Report(lines, [
      JSONMember("accounts", .array(answer.accounts.map(\.administratorsJSON))),
      JSONMember("next_page_token", .string(answer.nextPageToken)),
    ])
  }
}

struct Disable: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "Disable an account, and end its sessions.",
    discussion: """
      latchkey lookup --email alice@example.com   # shows the ID
      latchkey disable ID
      latchkey disable --file accounts.txt     # a line for each ID or address
      """)

  @OptionGroup var accounts: NamedAccounts

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    guard let id = accounts.id else { return try accounts.setDisabled(true, context) }
    let answer = try context.call(
      AdminRPC.setDisabled, SetDisabledRequest(accountID: id, disabled: true))
    return try context.report(answer.account, "Disabled")
  }
}

struct Enable: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "Enable a disabled account.",
    discussion: """
      latchkey enable ID
      latchkey enable --file accounts.txt
      """)

  @OptionGroup var accounts: NamedAccounts

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    guard let id = accounts.id else { return try accounts.setDisabled(false, context) }
    let answer = try context.call(
      AdminRPC.setDisabled, SetDisabledRequest(accountID: id, disabled: false))
    return try context.report(answer.account, "Enabled")
  }
}

struct SetClaims: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "set-claims", abstract: "Replace the custom claims in an account's tokens.",
    discussion: """
      latchkey set-claims ID '{"role": "editor"}'
      latchkey set-claims ID ''                        # none

      Tokens contain the new claims after the next refresh.
      """)

  @Argument(help: "Account ID.") var id: String
  @Argument(help: "JSON object of at most 1000 bytes; empty to remove all claims.") var claims: String

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(
      AdminRPC.setCustomClaims, SetCustomClaimsRequest(accountID: id, claimsJSON: claims))
    return try context.report(answer.account, "Set")
  }
}

struct Revoke: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "End every session of an account and revoke its custom tokens, or end one session.",
    discussion: """
      latchkey revoke ID
      latchkey revoke --session SESSION_ID     # as watch and ID tokens show it
      """)

  @Argument(help: "Account ID, or session ID with --session.") var id: String

  @Flag(name: .long, help: "End only the session with this ID.") var session = false

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    if session {
      return try context.call(SessionRPC.endSession, EndSessionRequest(sessionID: id)).report("revoked", id)
    }
    let answer = try context.call(
      AdminRPC.revokeSessions, RevokeSessionsRequest(accountID: id))
    return Report(["Ended: \(answer.closed) sessions of account \(printable(id))."], [
      JSONMember("outcome", .string("revoked")), JSONMember("closed", .int(Int64(answer.closed))),
    ])
  }
}

struct DeleteAccount: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete-account", abstract: "Delete an account permanently, without its user's consent.",
    discussion: """
      latchkey delete-account ID --yes
      latchkey delete-account --file accounts.txt --yes   # IDs or addresses

      With --file, accounts that are gone count as unchanged: the command can be repeated.
      """)

  @OptionGroup var accounts: NamedAccounts

  @OptionGroup var confirmation: DeletionConfirmation

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    guard let id = accounts.id else { return try accounts.delete(context) }
    _ = try context.call(AdminRPC.deleteAccount, DeleteAccountRequest(accountID: id))
    return Report(["Deleted: account \(printable(id))."], [
      JSONMember("outcome", .string("deleted")), JSONMember("account_id", .string(id)),
    ])
  }
}

struct RemoveFactors: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove-factors", abstract: "Remove every second factor of an account, and end its sessions.",
    discussion: """
      latchkey remove-factors ID

      Use this for a user who has lost all factors and recovery codes. Verify the user's identity first.
      """)

  @Argument(help: "Account ID.") var id: String

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(
      AdminRPC.removeSecondFactors, RemoveSecondFactorsRequest(accountID: id))
    var report = try context.report(answer.account, "Removed \(answer.removed) second factors")
    report.members.append(JSONMember("removed", .int(Int64(answer.removed))))
    return report
  }
}

struct UnlinkProvider: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "unlink-provider", abstract: "Remove a sign-in method from an account, even the last one.",
    discussion: """
      latchkey unlink-provider ID google.com
      latchkey unlink-provider ID google.com --subject 1048576   # of several

      Use this for a user who has a new subject at the provider, or whose sign-in method an attacker controls. The \
      account keeps its email address, and the owner of the address can sign in with another identity. Verify who \
      that is.
      """)

  @Argument(help: "Account ID.") var id: String
  @Argument(help: "Provider ID, as lookup shows it.") var provider: String
  @Option(name: .long, help: "Which identity of the provider, if the account has several.") var subject = ""

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let request = UnlinkProviderRequest(accountID: id, providerID: provider, subject: subject)
    let answer = try context.call(AdminRPC.unlinkProvider, request)
    return try context.report(answer.account, "Unlinked \(printable(provider))")
  }
}

struct Export: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print all accounts, one JSON object for each line.",
    discussion: "latchkey export --secrets > accounts.jsonl      # umask 077 first")

  @Flag(name: .long, help: "Include password hashes and the phone numbers of second factors.")
  var secrets = false

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    var count = 0
    try context.stream(AdminRPC.exportAccounts, ExportAccountsRequest(includeSecrets: secrets)) { answer in
      count += answer.accounts.count
      var text: [UInt8] = []
      for exported in answer.accounts {
        guard let members = exported.account?.administratorsJSON.members else { continue }
        var writer = JSONWriter()
        let hash = secrets ? [JSONMember("password_hash", .string(exported.passwordHash))] : []
        writer.value(.object(members + hash))
        text += writer.bytes + [UInt8(ascii: "\n")]
      }
      try tryWriteOutput(text)
      return true
    }
    return Report([], [JSONMember("outcome", .string("exported")), JSONMember("accounts", .int(Int64(count)))])
  }
}
