internal import Encodings
package import Store

/// Where backups go, and what makes them. One is made at a time.
package protocol Backups: Sendable {
  /// Writes a copy of the store that holds whatever was answered before `now`. `remember` is called once the copy is
  /// whole and safe on the disk, right before it counts as a backup; where it throws, or anything fails before it, no
  /// copy is left. A fate that is cancelled ends it. Throws `Failure`.
  func make(
    at now: Timestamp, fate: Fate, remember: @Sendable (BackupRecord) async throws -> Void
  ) async throws -> BackupRecord
}

/// None are made.
package struct NoBackups: Backups {
  private let unsupported: String?

  /// - Parameter unsupported: what to do instead, where no configuration would have this store copied.
  package init(unsupported: String? = nil) { self.unsupported = unsupported }

  package func make(
    at now: Timestamp, fate: Fate, remember: @Sendable (BackupRecord) async throws -> Void
  ) async throws -> BackupRecord {
    if let unsupported { throw Failure(.backupNotSupported, hint: unsupported) }
    throw Failure(.backupNotConfigured, hint: "The server's configuration names no store.backup_folder.")
  }
}

package struct BackupRecord: Hashable, Sendable {
  /// In the folder of backups.
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

  /// Where `Watch` goes on with what is not in the copy.
  package var eventCursor: EventCursor { EventCursor(position: copy.lastEvent) }
}

/// A copy of everything, for whoever may administer.
package struct BackUp: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  /// That there is a copy of all secrets is remembered before it is there. The row takes the call's fate: a call that
  /// was given up leaves no backup, and one that has left one is answered.
  package func callAsFunction(_ call: CallFacts) async throws -> BackupRecord {
    try await environment.backups.make(at: environment.clock.now(), fate: call.fate) { [environment] record in
      let note = AuditNote(
        .backedUp, accountID: "",
        details: [
          "file": record.fileName, "bytes": "\(record.byteCount)",
          "sha256": String(decoding: Hexadecimal.encode(record.sha256.bytes), as: UTF8.self),
        ])
      let write = environment.audit(note, call: call, now: environment.clock.now())
      _ = try await environment.commit(Change([write]), call.fate)
    }
  }
}
