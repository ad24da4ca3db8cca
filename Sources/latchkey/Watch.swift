import ArgumentParser
import Encodings
import Reactor
import Tokens
import API
import Protobuf

struct Watch: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print account events as they happen.",
    discussion: """
      latchkey watch
      latchkey watch --from oldest --type DISABLED --type ENABLED --json

      The caller needs the right to events (events: true in its configuration). Each line ends with the cursor of the \
      event. With --json, each line is one JSON document. Without --count, the command ends with its connection after \
      about an hour, with exit code 3. Continue from the last cursor.

      Event types, which proto/EVENTS.md explains:

        ACCOUNT_CREATED, LINKED, UNLINKED, RECLAIMED, ADDRESS_DETACHED,
        ADDRESS_OWNED_ELSEWHERE, DELETED, SIGNED_IN, SIGNED_OUT,
        REAUTHENTICATED, REFRESH_REPLAYED, SESSIONS_REVOKED, FACTOR_ENROLLED,
        FACTOR_WITHDRAWN, PROFILE_CHANGED, EMAIL_CHANGED, PASSWORD_CHANGED,
        MERGED, IDLE_REMOVED, DISABLED, ENABLED, CUSTOM_CLAIMS_CHANGED,
        CUSTOM_TOKEN_CREATED, ACCOUNT_IMPORTED, ACCOUNTS_EXPORTED,
        BACKUP_MADE, EMAIL_VERIFIED, EMAIL_REVERTED, PASSWORD_RESET,
        EMAIL_UNVERIFIED, EMAIL_LINK_CREATED, ACCOUNT_FORGOTTEN,
        ACCOUNT_EXPORTED, SIGNING_KEY_ROTATED, SIGNING_KEY_REVOKED, UNLOCKED,
        MESSAGE_RESENT, HOOK_DENIED, HOOK_CHANGED, PASSWORD_COMPROMISED,
        INVITED, SESSION_COOKIE_CREATED, PASSKEY_RENAMED,
        PASSKEY_CLONE_SUSPECTED, PROVIDER_TOKEN_REVOKED,
        IDENTITY_TRANSFERRED, TRANSFER_SUBJECT_SET.
      """)

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Start after this cursor, or at \"oldest\", the oldest stored event.", valueName: "cursor"))
  var from = "now"

  @Option(name: .long, help: ArgumentHelp("Only events of this type. Repeatable.", valueName: "type"))
  var type: [String] = []

  @Option(name: .long, help: ArgumentHelp("End after this number of events.", valueName: "number"))
  var count: UInt32?

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard count != 0 else { throw ValidationError("--count must be at least 1.") }
  }

  func run() throws {
    try showEnding(asJSON: common.json) {
      var left = count
      let types = try type.map { name in
        guard let type = EventType(name: name), type != .unspecified else {
          throw Ending.usage("--type", "\(name) is not one of the types that --help lists")
        }
        return type
      }
      let request = WatchRequest(cursor: from == "oldest" ? "" : from, types: types)
      try CommandContext(common).stream(EventRPC.watch, request) { answer in
        guard let event = answer.event else { return true }
        try Watch.report(event, answer.cursor).show(asJSON: common.json)
        left = left.map { $0 - 1 }
        return left != 0
      }
    }
  }

  private static func report(_ event: Event, _ cursor: String) -> Report {
    let moment = event.occurredAtMillis.map(rfc3339) ?? "-"
    let type = event.type?.word ?? "unknown type"
    let words = [moment, type, event.accountID, "by " + event.caller, event.detailsJSON, cursor]
    return Report([words.map(printable).joined(separator: "  ")], [
      JSONMember("cursor", .string(cursor)), JSONMember("event_id", .string(event.eventID)),
      JSONMember("type", .word(event.type)), JSONMember("occurred_at", .moment(event.occurredAtMillis)),
      JSONMember("account_id", .string(event.accountID)), JSONMember("caller", .string(event.caller)),
      JSONMember("details_json", .string(event.detailsJSON)),
    ])
  }
}
