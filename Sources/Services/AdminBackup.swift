internal import Identity
internal import Store
internal import API

extension AdminService {
  /// The time limit of Backup, long enough for a large database. `store.backup_seconds` may end a copy earlier.
  static let backupMillisMax: Int64 = 3_600_000

  var backup: Method {
    .unary(
      AdminRPC.backup, timeLimitMillis: AdminService.backupMillisMax
    ) { [shared] _, message, context, _ in
      let call = try shared.facts(context, message)
      let backUp = BackUp(shared.environment)
      return .task { BackupResponse(try await backUp(call)) }
    }
  }
}

extension BackupResponse {
  fileprivate init(_ record: BackupRecord) {
    self.init(
      fileName: record.fileName, sizeBytes: record.byteCount, sha256: record.sha256.bytes,
      accounts: Int64(record.copy.accountCount), eventCursor: record.eventCursor.text,
      createdAtMillis: record.createdAt.millis)
  }
}
