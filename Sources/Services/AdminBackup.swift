internal import Identity
internal import Store
internal import API

extension AdminService {
  /// A large database is copied at leisure; `store.backup_seconds` ends a copy earlier.
  static let backupMillisMax: Int64 = 3_600_000

  var backup: Method {
    .unary(
      AdminRPC.backup, timeLimitMillis: AdminService.backupMillisMax
    ) { [desk] _, message, context, _ in
      let call = try desk.facts(context, message)
      let backUp = BackUp(desk.environment)
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
