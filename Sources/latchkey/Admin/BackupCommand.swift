import ArgumentParser
import Encodings
import Reactor
import Tokens
import API

struct Backup: DeskCommand {
  static let configuration = CommandConfiguration(
    abstract: "Have the server copy its whole database into its backup folder.",
    discussion: """
      latchkey backup --timeout 600
      latchkey backup --json

      The server goes on serving meanwhile. The command ends once the copy was checked and is safe on the server's \
      disk, and prints its name there and its SHA-256. If it gives up before, by --timeout, no copy is left.

      The server needs store.backup_folder in its configuration. A copy is restored by putting it in the place of \
      store.path while the server is stopped, with the -wal and -shm files beside that removed; it is of use only \
      together with the master key, which is not in it.
      """)

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let answer = try desk.call(AdminRPC.backup, BackupRequest())
    let digest = String(decoding: Hexadecimal.encode(answer.sha256), as: UTF8.self)
    let name = printable(answer.fileName)
    return Report([
      "Made: \(name), \(answer.sizeBytes) bytes, in the server's backup folder",
      "  SHA-256: \(digest)",
      "  Holds: \(answer.accounts) accounts, as they were at \(answer.createdAtMillis.map(rfc3339) ?? "some moment")",
      "  Events that follow it: \(desk.proposal("watch", "--from", answer.eventCursor))",
    ], [
      JSONMember("outcome", .string("backed_up")), JSONMember("file_name", .string(answer.fileName)),
      JSONMember("size_bytes", .int(answer.sizeBytes)), JSONMember("sha256", .string(digest)),
      JSONMember("accounts", .int(answer.accounts)), JSONMember("event_cursor", .string(answer.eventCursor)),
      JSONMember("created_at", .moment(answer.createdAtMillis)),
    ])
  }
}
