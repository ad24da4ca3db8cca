import ArgumentParser
import Client
import Encodings
import Reactor
import Tokens
import API

/// What the commands of an administrator say of an account.
extension Desk {
  func told(_ account: Account?, _ what: String) throws -> Report {
    guard let account else { throw Ending.unknownAnswer }
    var lines = ["\(what): account \(printable(account.accountID))\(account.disabled ? ", disabled" : "")"]
    if !account.email.isEmpty {
      lines.append("  Address: \(printable(account.email)), \(account.emailVerified ? "proved" : "not proved")")
    }
    lines.append("  Ways of signing in: \(ways(account))")
    if !account.customClaimsJSON.isEmpty { lines.append("  Claims: \(printable(account.customClaimsJSON))") }
    if let last = account.lastSignInAtMillis { lines.append("  Last sign-in: \(rfc3339(last))") }
    return Report(lines, [JSONMember("account", account.administratorsJSON)])
  }
}

extension Account {
  /// With what only administrators are shown.
  var administratorsJSON: JSONValue {
    .object((json.members ?? []) + [
      JSONMember("phone_number", .string(phoneNumber)), JSONMember("disabled", .bool(disabled)),
      JSONMember("custom_claims_json", .string(customClaimsJSON)),
    ])
  }
}

struct Lookup: DeskCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show one account, by what names it.",
    discussion: """
      latchkey lookup --email alice@example.com
      latchkey lookup --provider google.com --subject 1234567890
      """)

  @Option(name: .long, help: "The account's id.") var id: String?
  @Option(name: .long, help: "Its address.") var email: String?
  @Option(name: .long, help: "Its number, as +49….") var phone: String?
  @Option(name: .long, help: "A provider, with --subject.") var provider: String?
  @Option(name: .long, help: "The person's id at the provider.") var subject: String?

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard (provider == nil) == (subject == nil) else { throw ValidationError("--provider and --subject go together.") }
    guard [id, email, phone, provider].compactMap(\.self).count == 1 else {
      throw ValidationError("Give --id, --email, --phone, or --provider with --subject.")
    }
  }

  func perform(_ desk: Desk) throws -> Report {
    let named: LookupRequest.Subject? =
      id.map { .accountID($0) } ?? email.map { .email($0) } ?? phone.map { .phoneNumber($0) }
        ?? provider.map { .identity(ProviderIdentity(providerID: $0, subject: subject ?? "")) }
    let answer = try desk.call(AdminRPC.lookup, LookupRequest(subject: named))
    return try desk.told(answer.account, "Found")
  }
}

struct List: DeskCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show accounts, one a line, in the order of their ids.",
    discussion: "One page, and the token of the next: latchkey list --page-token TOKEN")

  @Option(name: .long, help: "1 to 1000.") var size: UInt16 = 100
  @Option(name: .long, help: "Of the page before.") var pageToken = ""

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let answer = try desk.call(
      AdminRPC.list, ListRequest(pageToken: pageToken, pageSize: Int32(size)))
    var lines = answer.accounts.map { account in
      let states = (account.disabled ? " disabled" : "") + (account.anonymous ? " anonymous" : "")
      return "\(printable(account.accountID)) \(account.email.isEmpty ? "-" : printable(account.email))\(states)"
    }
    if lines.isEmpty { lines = ["No accounts."] }
    if !answer.nextPageToken.isEmpty {
      lines.append("More: " + desk.proposal("list", "--size", "\(size)", "--page-token", answer.nextPageToken))
    }
    return Report(lines, [
      JSONMember("accounts", .array(answer.accounts.map(\.administratorsJSON))),
      JSONMember("next_page_token", .string(answer.nextPageToken)),
    ])
  }
}

struct Disable: DeskCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shut an account, and end its sessions.",
    discussion: """
      latchkey lookup --email alice@example.com        # says its id
      latchkey disable ID
      """)

  @Argument(help: "The account's id.") var id: String

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let answer = try desk.call(
      AdminRPC.setDisabled, SetDisabledRequest(accountID: id, disabled: true))
    return try desk.told(answer.account, "Disabled")
  }
}

struct Enable: DeskCommand {
  static let configuration = CommandConfiguration(
    abstract: "Open an account that was shut.",
    discussion: "latchkey enable ID")

  @Argument(help: "The account's id.") var id: String

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let answer = try desk.call(
      AdminRPC.setDisabled, SetDisabledRequest(accountID: id, disabled: false))
    return try desk.told(answer.account, "Enabled")
  }
}

struct SetClaims: DeskCommand {
  static let configuration = CommandConfiguration(
    commandName: "set-claims", abstract: "Replace the claims that an account's tokens carry.",
    discussion: """
      latchkey set-claims ID '{"role": "editor"}'
      latchkey set-claims ID ''                        # none

      Tokens say so from the next refresh on.
      """)

  @Argument(help: "The account's id.") var id: String
  @Argument(help: "A JSON object of at most 1000 bytes, or nothing.") var claims: String

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let answer = try desk.call(
      AdminRPC.setCustomClaims, SetCustomClaimsRequest(accountID: id, claimsJSON: claims))
    return try desk.told(answer.account, "Set")
  }
}

struct Revoke: DeskCommand {
  static let configuration = CommandConfiguration(
    abstract: "End every session of an account, and what custom tokens could open.",
    discussion: "latchkey revoke ID")

  @Argument(help: "The account's id.") var id: String

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let answer = try desk.call(
      AdminRPC.revokeSessions, RevokeSessionsRequest(accountID: id))
    return Report(["Ended: \(answer.closed) sessions of account \(printable(id))."], [
      JSONMember("outcome", .string("revoked")), JSONMember("closed", .int(Int64(answer.closed))),
    ])
  }
}

struct DeleteAccount: DeskCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete-account", abstract: "Delete an account for good, without its person.",
    discussion: "latchkey delete-account ID --yes")

  @Argument(help: "The account's id.") var id: String

  @Flag(name: .long, help: "Yes, delete it.")
  var yes = false

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard yes else { throw ValidationError("An account that is deleted does not come back: add --yes.") }
  }

  func perform(_ desk: Desk) throws -> Report {
    _ = try desk.call(AdminRPC.deleteAccount, DeleteAccountRequest(accountID: id))
    return Report(["Deleted: account \(printable(id))."], [
      JSONMember("outcome", .string("deleted")), JSONMember("account_id", .string(id)),
    ])
  }
}

struct RemoveFactors: DeskCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove-factors", abstract: "Remove every second factor of an account, and end its sessions.",
    discussion: """
      latchkey remove-factors ID

      For a person who has lost them and the recovery codes: be sure that it is the person who asks.
      """)

  @Argument(help: "The account's id.") var id: String

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let answer = try desk.call(
      AdminRPC.removeSecondFactors, RemoveSecondFactorsRequest(accountID: id))
    var report = try desk.told(answer.account, "Removed \(answer.removed) second factors")
    report.members.append(JSONMember("removed", .int(Int64(answer.removed))))
    return report
  }
}

struct UnlinkProvider: DeskCommand {
  static let configuration = CommandConfiguration(
    commandName: "unlink-provider", abstract: "Remove a way of signing in from an account, also the last one.",
    discussion: """
      latchkey unlink-provider ID google.com

      For a person whom the provider knows by another subject now, or where the way in is in wrong hands. The address \
      stays, and its owner can come in by another identity: be sure who that is.
      """)

  @Argument(help: "The account's id.") var id: String
  @Argument(help: "The provider, as lookup names it.") var provider: String

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let answer = try desk.call(
      AdminRPC.unlinkProvider, UnlinkProviderRequest(accountID: id, providerID: provider))
    return try desk.told(answer.account, "Unlinked \(printable(provider))")
  }
}

struct Export: DeskCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print every account, one JSON object a line.",
    discussion: "latchkey export --secrets > accounts.jsonl      # umask 077 first")

  @Flag(name: .long, help: "With password hashes and the numbers of second factors.")
  var secrets = false

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    var count = 0
    try desk.stream(AdminRPC.exportAccounts, ExportAccountsRequest(includeSecrets: secrets)) { answer in
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
