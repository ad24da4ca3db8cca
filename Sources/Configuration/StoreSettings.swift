package import Identity
package import StorePostgres

/// Settings of the PostgreSQL store.
package struct PostgresSettings: Hashable, Sendable {
  /// Connection string; empty if the store is a file.
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
      storePath = path(try group.text("path", "latchkey.db", "database file; created if it does not exist"))
      try group.group("postgres") { group throws(ConfigurationError) in
        postgres.conninfo = try group.text(
          "conninfo", "",
          "libpq keywords and values, or a postgresql:// URI, without a password; empty: the file of store.path")
        postgres.passwordFile = path(
          try group.text("password_file", "", "file whose first line is the password; read for each connection"))
        postgres.connections = try group.integer(
          "connections", 4, 1...64, "database connections per reactor, and as many again for other threads")
        postgres.statementMillis = try group.seconds("statement_seconds", 5, 1...60, "timeout of a statement")
        postgres.lockMillis = try group.seconds("lock_seconds", 3, 1...60, "maximum time a change waits for row locks")
        postgres.waitMillis = try group.seconds("wait_seconds", 2, 1...60, "maximum time a call waits for a connection")
        try check(postgres, group)
      }
      guard !hasPath || !postgres.isUsed else {
        throw group.wrong("path", "it cannot be set together with store.postgres")
      }
      if postgres.isUsed { storePath = "" }
      storeMigratesAtStart = try group.flag(
        "migrate_at_start", true, "migrate an older schema at the start; false: only by latchkeyd --migrate")
      let days = try group.integer(
        "audit_days", 400, 1...36_500, "days to keep audit rows, and events for watchers")
      policy.auditLifetimeMillis = Int64(days) * 86_400_000
      search = try group.flag("search", false, "keep an index for AdminService.Search, which makes writes dearer")
      let failureDays = try group.integer(
        "failure_days", 30, 1...3_650, "days to keep failed sign-ins, and records of sent messages")
      policy.failureLifetimeMillis = Int64(failureDays) * 86_400_000
      backupFolder = path(
        try group.text("backup_folder", "", "folder for AdminService.Backup, used by only one server; empty: disabled"))
      guard backupFolder.isEmpty || !postgres.isUsed else {
        throw group.wrong("backup_folder", "it cannot be set together with store.postgres; use the tools of PostgreSQL")
      }
      backupsKeptMax = try group.integer("backups_kept", 0, 0...100_000, "number of backups to keep; 0: all")
      backupMillis = try group.seconds(
        "backup_seconds", 600, 1...3_600, "maximum duration of a backup, during which the store's log grows")
      storeCheckMillis = try group.seconds(
        "check_seconds", 600, 0...86_400,
        "maximum duration of the check of the file after the start (0: none), during which the store's log grows")
    }
  }

  private func check(_ postgres: PostgresSettings, _ group: SettingsReader) throws(ConfigurationError) {
    guard postgres.isUsed else {
      guard postgres.passwordFile.isEmpty else { throw group.wrong("password_file", "it requires conninfo") }
      return
    }
    if let fault = ConnectionInfo.fault(of: postgres.conninfo, passwordOption: "password_file") {
      throw group.wrong("conninfo", fault)
    }
  }
}

extension PostgresSettings {
  /// Warning about an unencrypted remote connection; `nil` if there is none.
  package var warning: String? {
    guard let info = ConnectionInfo(conninfo), !info.isLocal, !info.isEncrypted else { return nil }
    return "store.postgres.conninfo allows an unencrypted connection to the database (sslmode \(info.sslMode ?? ""))"
  }

  /// The hosts of the database, for the log.
  package var place: String { ConnectionInfo(conninfo)?.hosts.joined(separator: ",") ?? "" }

  package var options: StorePostgres.Options {
    var options = StorePostgres.Options(conninfo: conninfo)
    options.passwordFile = passwordFile
    options.connections = connections
    options.statementMillis = statementMillis
    options.lockMillis = lockMillis
    options.waitMillis = waitMillis
    return options
  }

  /// Backups of a server without a backup folder.
  package var noBackups: NoBackups { NoBackups(unsupported: isUsed ? PostgresStore.backupHint : nil) }

  func checkFiles() throws(ConfigurationError) {
    guard !passwordFile.isEmpty else { return }
    _ = try readFile(passwordFile, of: "store.postgres.password_file", bytesMax: 4_096)
  }
}
