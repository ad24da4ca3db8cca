import ArgumentParser
import Reactor
import StoreMigration
import Tokens

/// The command `restore`. It works on files, and calls no server.
struct RestoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore", abstract: "Restore an embedded store from a backup, while no server runs.",
    discussion: """
      systemctl stop latchkeyd
      latchkey restore /mnt/backups/latchkey/latchkey-….db \\
        --to /var/lib/latchkey/latchkey.db
      systemctl start latchkeyd

      The command copies the backup next to the target, compares its SHA-256 with the file FILE.sha256 that the server \
      wrote, and checks every page, every index and the schema. Then it replaces the target and removes the \
      write-ahead log of the former file. However the command ends, the target is complete: the former file with its \
      log, or the restored one. The server's next start finishes what was interrupted.

      The former file stays as TARGET.before-TIME, unless you give --replace. The restored file has the former file's \
      owner, or else that of the folder, and the mode 0600. Run the command as root or as that user.

      What happened after the backup is lost, and what was revoked since is valid again, signing keys included.

      Exit codes: 0 restored; 1 the backup is rejected: its digest differs, it is corrupt, or a newer version wrote \
      it; 2 a server uses the target, or a file cannot be read or written. With 1 and 2 nothing was changed.
      """)

  @Argument(help: ArgumentHelp("Backup, as the server made it.", valueName: "file")) var file: String

  @Option(name: .long, help: ArgumentHelp("Database file, as in store.path.", valueName: "path"))
  var to: String

  @Option(
    name: .long,
    help: ArgumentHelp("SHA-256 of the backup, instead of the file next to it.", valueName: "digest"))
  var sha256: String?

  @Flag(name: .long, help: "Do not compare the digest, for example of a copy that you made yourself.")
  var withoutDigest = false

  @Flag(name: .long, help: "Do not keep the former file.")
  var replace = false

  @Flag(name: .long, help: "Print one JSON document.")
  var json = false

  func validate() throws {
    guard sha256 == nil || !withoutDigest else { throw ValidationError("Give --sha256 or --without-digest, not both.") }
    if let sha256 {
      let digits = sha256.lowercased().utf8
      let isDigest = digits.count == 64 && digits.allSatisfy { "0123456789abcdef".utf8.contains($0) }
      guard isDigest else { throw ValidationError("--sha256 has 64 hexadecimal digits.") }
    }
  }

  func run() throws { try show(asJSON: json, perform) }

  private func perform() throws -> Report {
    let digest = sha256.map(Restore.Digest.given) ?? (withoutDigest ? .unchecked : .file)
    let restore = Restore(from: file, to: to, digest: digest, keeps: !replace)
    var isShown = false
    defer { if isShown { showProgress(nil) } }
    do throws(RestoreError) {
      return report(try restore.run { step in
        guard !json else { return }
        isShown = true
        showProgress(step.text)
      })
    } catch {
      switch error {
      case .backup(let why): throw refusal(.refused, "The backup is rejected: \(why)")
      case .target(let why): throw refusal(.usage, "Nothing was restored: \(why)")
      }
    }
  }

  private func report(_ restored: Restored) -> Report {
    var lines = [
      "Restored: \(to), \(restored.byteCount) bytes, \(restored.accountCount) accounts",
      "  SHA-256 of the backup: \(restored.sha256)\(withoutDigest ? ", not compared" : "")",
    ]
    if let keptAt = restored.keptAt { lines.append("  Former file: \(keptAt)") }
    lines.append("Next: start the server.")
    return Report(lines, [
      JSONMember("outcome", .string("restored")), JSONMember("size_bytes", .int(restored.byteCount)),
      JSONMember("sha256", .string(restored.sha256)), JSONMember("accounts", .int(Int64(restored.accountCount))),
      JSONMember("former_file", restored.keptAt.map(JSONValue.string) ?? .null),
    ])
  }

  private func refusal(_ code: Ending.Code, _ text: String) -> Ending {
    let error = JSONValue.object([JSONMember("message", .string(text))])
    return Ending(code: code, report: Report([printable(text)], [JSONMember("error", error)]))
  }
}

extension RestoreStep {
  fileprivate var text: String {
    switch self {
    case .copying(let bytes): "copying: \(bytes >> 20) MiB"
    case .checking: "checking the backup"
    }
  }
}
