import API
import ArgumentParser
import Encodings
import Reactor
import Tokens

struct KeysStatus: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show how each master key is used, and when it can be removed.",
    discussion: """
      latchkey keys status
      latchkey keys status --timeout 600 --json

      The server reads every row that depends on a master key. Ask any server; the keys it does not have come last.
      """)

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(AdminRPC.getMasterKeyStatus, GetMasterKeyStatusRequest())
    return Report(
      answer.keys.flatMap(\.lines), [JSONMember("master_keys", .array(answer.keys.map(\.json)))])
  }
}

extension MasterKeyUse {
  fileprivate var lines: [String] {
    var lines = ["\(id): \(sentence)"]
    if !sealedRows.isEmpty {
      lines.append("  Sealed rows: " + sealedRows.map { "\($0.rows) in \($0.table)" }.joined(separator: ", "))
    }
    if refreshTokens > 0 { lines.append("  Refresh tokens that may need it: \(refreshTokens)") }
    if let knownAtMillis { lines.append("  First known: \(rfc3339(knownAtMillis))") }
    if let sealedAtMillis { lines.append("  Last sealed: \(rfc3339(sealedAtMillis))") }
    return lines
  }

  private var rowCount: Int64 { sealedRows.reduce(0) { $0 + $1.rows } }

  /// States whether the operator can remove the key.
  private var sentence: String {
    let setting = "secrets.master_key_files"
    let until = neededUntilMillis.map(rfc3339) ?? "an unknown time"
    return switch state {
    case .seals: "The key \(id) seals. Keep it."
    case .sealsElsewhere:
      "The key \(id) cannot be removed: another server seals with it, or did until a minute ago."
    case .opens: "The key \(id) cannot be removed yet: \(rowCount) rows are sealed under it. Servers seal them again."
    case .agesOut: "The key \(id) can be removed from \(setting) after \(until)."
    case .removable: "The key \(id) can be removed from \(setting) now."
    case .unused: "The key \(id) has not sealed anything yet. Put it first in \(setting) on all servers."
    case .missing: "The key \(id) is missing in \(setting) of this server: \(rowCount) rows are sealed under it."
    case .removed: "The key \(id) was removed. Keep it as long as you keep backups from before."
    case .unspecified, nil: "The state of the key \(id) is unknown to this version of the command."
    }
  }

  fileprivate var json: JSONValue {
    .object([
      JSONMember("id", .string(id)), JSONMember("state", .lowercaseWord(state)),
      JSONMember("sealed_rows", .object(sealedRows.map { JSONMember($0.table, .int($0.rows)) })),
      JSONMember("refresh_tokens", .int(refreshTokens)), JSONMember("needed_until", .moment(neededUntilMillis)),
      JSONMember("known_at", .moment(knownAtMillis)), JSONMember("seen_at", .moment(seenAtMillis)),
      JSONMember("sealed_at", .moment(sealedAtMillis)), JSONMember("sentence", .string(sentence)),
    ])
  }
}
