import API
import ArgumentParser
import Encodings
import Tokens

struct Passkeys: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show, rename and remove the passkeys of your account.",
    discussion: """
      latchkey passkeys list
      latchkey passkeys rename ID --name "My phone"
      latchkey passkeys remove ID

      Only a browser registers passkeys and signs in with them.
      """,
    subcommands: [ListOfPasskeys.self, RenamePasskey.self, RemovePasskey.self], defaultSubcommand: ListOfPasskeys.self)
}

struct ListOfPasskeys: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Show the passkeys of your account, oldest first.",
    discussion: "latchkey passkeys list")

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let request = ListPasskeysRequest(idToken: try context.session().idToken)
    let passkeys = try context.call(PasskeyRPC.listPasskeys, request).passkeys
    let lines = passkeys.isEmpty ? ["The account has no passkeys."] : passkeys.map(\.line)
    return Report(lines, [JSONMember("passkeys", .array(passkeys.map(\.json)))])
  }
}

struct RenamePasskey: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "rename", abstract: "Change the name of a passkey.",
    discussion: """
      latchkey passkeys rename ID --name "My phone"
      """)

  @Argument(help: "ID of the passkey, as list shows it.")
  var id: String

  @Option(name: .long, help: "New name.")
  var name: String

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let request = RenamePasskeyRequest(idToken: try context.session().idToken, passkeyID: id, name: name)
    guard let passkey = try context.call(PasskeyRPC.renamePasskey, request).passkey else { throw Ending.unknownAnswer }
    return Report([passkey.line], [JSONMember("passkey", passkey.json)])
  }
}

struct RemovePasskey: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Remove a passkey from your account.",
    discussion: """
      latchkey passkeys remove ID

      You cannot remove the last sign-in method. The service may require a recent sign-in (latchkey reauthenticate).
      """)

  @Argument(help: "ID of the passkey, as list shows it.")
  var id: String

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let request = RemovePasskeyRequest(idToken: try context.session().idToken, passkeyID: id)
    return try context.opened(try context.call(PasskeyRPC.removePasskey, request).session, "Removed the passkey")
  }
}

extension Passkey {
  fileprivate var line: String {
    let used = lastUsedAtMillis.map { "last used \(rfc3339($0))" } ?? "not used yet"
    let name = name.isEmpty ? "no name" : printable(name)
    return "\(printable(passkeyID))  \(name), \(printable(rpID)), \(used)\(backedUp ? ", synchronized" : "")"
  }

  fileprivate var json: JSONValue {
    .object([
      JSONMember("passkey_id", .string(passkeyID)), JSONMember("name", .string(name)),
      JSONMember("rp_id", .string(rpID)), JSONMember("created_at", .moment(createdAtMillis)),
      JSONMember("last_used_at", .moment(lastUsedAtMillis)), JSONMember("backup_eligible", .bool(backupEligible)),
      JSONMember("backed_up", .bool(backedUp)), JSONMember("user_verified", .bool(userVerified)),
      JSONMember("transports", .strings(transports)), JSONMember("aaguid", .string(aaguid)),
    ])
  }
}
