import ArgumentParser
import Encodings
import Reactor
import Tokens
import API

struct Backup: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make the server copy its database into its backup folder.",
    discussion: """
      latchkey backup --timeout 600
      latchkey backup --json

      The server continues to serve calls. The command returns when the server has verified the copy and flushed it \
      to disk, and prints the file name and its SHA-256. If --timeout expires first, the server keeps no copy.

      The server needs store.backup_folder in its configuration. To restore a copy, stop the server and use latchkey \
      restore. A copy is useless without the master key, which it does not contain.
      """)

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(AdminRPC.backup, BackupRequest())
    let digest = String(decoding: Hexadecimal.encode(answer.sha256), as: UTF8.self)
    let name = printable(answer.fileName)
    return Report([
      "Created: \(name), \(answer.sizeBytes) bytes, in the server's backup folder",
      "  SHA-256: \(digest)",
      "  Contents: \(answer.accounts) accounts at \(answer.createdAtMillis.map(rfc3339) ?? "an unknown time")",
      "  Later events: \(context.proposal("watch", "--from", answer.eventCursor))",
    ], [
      JSONMember("outcome", .string("backed_up")), JSONMember("file_name", .string(answer.fileName)),
      JSONMember("size_bytes", .int(answer.sizeBytes)), JSONMember("sha256", .string(digest)),
      JSONMember("accounts", .int(answer.accounts)), JSONMember("event_cursor", .string(answer.eventCursor)),
      JSONMember("created_at", .moment(answer.createdAtMillis)),
    ])
  }
}
