internal import Encodings
package import Store

/// Maker of backups. It makes one at a time.
package protocol Backups: Sendable {
  /// Writes a copy of the store that contains every change that was answered before `now`.
  ///
  /// Calls `remember` when the copy is complete and durable, immediately before it counts as a backup. If `remember` or
  /// an earlier step fails, no copy remains. Cancelling `commitDecision` ends the backup. Throws `Failure`.
  func make(
    at now: Timestamp, commitDecision: CommitDecision, remember: @Sendable (BackupRecord) async throws -> Void
  ) async throws -> BackupRecord
}

/// A maker that rejects every backup.
package struct NoBackups: Backups {
  private let unsupported: String?

  /// - Parameter unsupported: what to do instead, if no configuration makes backups of this store possible.
  package init(unsupported: String? = nil) { self.unsupported = unsupported }

  package func make(
    at now: Timestamp, commitDecision: CommitDecision, remember: @Sendable (BackupRecord) async throws -> Void
  ) async throws -> BackupRecord {
    if let unsupported { throw Failure(.backupNotSupported, hint: unsupported) }
    throw Failure(.backupNotConfigured, hint: "Set `store.backup_folder` in the server's configuration.")
  }
}

package struct BackupRecord: Hashable, Sendable {
  /// Name of the file in the backup folder.
  package var fileName: String
  package var byteCount: Int64
  package var sha256: Digest
  package var copy: StoreCopy
  package var createdAt: Timestamp

  package init(fileName: String, byteCount: Int64, sha256: Digest, copy: StoreCopy, createdAt: Timestamp) {
    self.fileName = fileName
    self.byteCount = byteCount
    self.sha256 = sha256
    self.copy = copy
    self.createdAt = createdAt
  }

  /// Cursor from which `Watch` returns the events that are not in the copy.
  package var eventCursor: EventCursor { EventCursor(position: copy.lastEvent) }
}

/// Makes a backup of the whole store, for an administrator.
package struct BackUp: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// Makes a backup, and records it in the audit table before the copy of all secrets exists.
  ///
  /// The row uses the commit decision of the call. A cancelled call leaves no backup, and a call that leaves a backup
  /// is answered.
  package func callAsFunction(_ call: CallFacts) async throws -> BackupRecord {
    try await environment.backups.make(at: environment.clock.now(), commitDecision: call.commitDecision) {
      [environment] record in
      let note = AuditNote(
        .backedUp, accountID: "",
        details: [
          "file": record.fileName, "bytes": "\(record.byteCount)",
          "sha256": String(decoding: Hexadecimal.encode(record.sha256.bytes), as: UTF8.self),
        ])
      let write = environment.audit(note, call: call, now: environment.clock.now())
      _ = try await environment.commit(Change([write]), call.commitDecision)
    }
  }
}
