internal import Identity
internal import StorePostgres

/// Where everything is kept, if not in a file.
package struct PostgresSettings: Hashable, Sendable {
  /// Empty: in a file.
  package var conninfo = ""
  package var passwordFile = ""
  package var connections = 4
  package var statementMillis: Int64 = 0
  package var lockMillis: Int64 = 0
  package var waitMillis: Int64 = 0

  package var isUsed: Bool { !conninfo.isEmpty }
}

extension Settings {
  mutating func readStore(
    _ reader: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) {
    try reader.group("store") { group throws(ConfigurationError) in
      let hasPath = group.isSet("path")
      storePath = path(try group.text("path", "latchkey.db", "database file; made when it is not there"))
      try group.group("postgres") { group throws(ConfigurationError) in
        postgres.conninfo = try group.text(
          "conninfo", "",
          "keywords and values of libpq, or a postgresql:// URI, without a password; empty: the file of store.path")
        postgres.passwordFile = path(
          try group.text("password_file", "", "file whose first line is the password; read for each connection"))
        postgres.connections = try group.integer(
          "connections", 4, 1...64, "to the database, for each reactor and once more for the rest")
        postgres.statementMillis = try group.seconds("statement_seconds", 5, 1...60, "that a statement may take")
        postgres.lockMillis = try group.seconds("lock_seconds", 3, 1...60, "that a change waits for another's rows")
        postgres.waitMillis = try group.seconds("wait_seconds", 2, 1...60, "that a call waits for a connection")
        try check(postgres, group)
      }
      guard !hasPath || !postgres.isUsed else {
        throw group.wrong("path", "it cannot be set together with store.postgres")
      }
      if postgres.isUsed { storePath = "" }
      let days = try group.integer(
        "audit_days", 400, 1...36_500, "how long audit rows are kept, and events can be watched from")
      policy.auditLifetimeMillis = Int64(days) * 86_400_000
      backupFolder = path(
        try group.text("backup_folder", "", "where AdminService.Backup puts copies, of one server alone; empty: off"))
      guard backupFolder.isEmpty || !postgres.isUsed else {
        throw group.wrong("backup_folder", "it cannot be set together with store.postgres, which has its own tools")
      }
      backupsKeptMax = try group.integer("backups_kept", 0, 0...100_000, "how many copies stay there; 0: all")
      backupMillis = try group.seconds(
        "backup_seconds", 600, 1...3_600, "the longest that a backup may take, while the store's log grows")
    }
  }

  private func check(_ postgres: PostgresSettings, _ group: SettingsReader) throws(ConfigurationError) {
    guard postgres.isUsed else {
      guard postgres.passwordFile.isEmpty else { throw group.wrong("password_file", "it goes with conninfo") }
      return
    }
    if let fault = ConnectionInfo.fault(of: postgres.conninfo, passwordOption: "password_file") {
      throw group.wrong("conninfo", fault)
    }
  }
}

extension PostgresSettings {
  /// What an operator should know of the way that he has chosen; nil: nothing.
  var warning: String? {
    guard let info = ConnectionInfo(conninfo), !info.isLocal, !info.isEncrypted else { return nil }
    return "store.postgres.conninfo lets others read what goes to the database (sslmode \(info.sslMode ?? ""))"
  }

  /// For the log: no more than where it is.
  var place: String { ConnectionInfo(conninfo)?.hosts.joined(separator: ",") ?? "" }

  var options: StorePostgres.Options {
    var options = StorePostgres.Options(conninfo: conninfo)
    options.passwordFile = passwordFile
    options.connections = connections
    options.statementMillis = statementMillis
    options.lockMillis = lockMillis
    options.waitMillis = waitMillis
    return options
  }

  /// For a server without a folder of backups.
  var noBackups: NoBackups { NoBackups(unsupported: isUsed ? PostgresStore.backupHint : nil) }

  func checkFiles() throws(ConfigurationError) {
    guard !passwordFile.isEmpty else { return }
    _ = try readFile(passwordFile, of: "store.postgres.password_file", bytesMax: 4_096)
  }
}
