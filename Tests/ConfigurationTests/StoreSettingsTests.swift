import Testing

@testable import Configuration

private func postgres(_ conninfo: String, _ more: String = "") throws(ConfigurationError) -> Settings {
  try settings("store: { postgres: { conninfo: \"\(conninfo)\" }\(more) }, ")
}

@Test func `the store is a file by default, or a database if configured`() throws {
  #expect(try !settings().postgres.isUsed)
  let used = try postgres("host=/run/postgresql dbname=latchkey")
  #expect(used.postgres.isUsed && used.storePath.isEmpty)
  #expect(used.postgres.connections == 4 && used.postgres.place == "/run/postgresql")
  let variable = ["LATCHKEY_STORE_POSTGRES_CONNINFO": "postgresql://u@localhost/latchkey"]
  #expect(try settings("", environment: variable).postgres.place == "localhost")
}

@Test(arguments: [
  "host=/run/postgresql", "host=@abstract", "host=localhost,127.0.0.1", "postgresql:///latchkey?host=/run",
  "host=db.internal sslmode=verify-full sslrootcert=ca.pem", "postgresql://u@db.internal,db2/x?sslmode=verify-ca",
])
func `a local database, or one whose certificate is verified, causes no warning`(conninfo: String) throws {
  #expect(try postgres(conninfo).postgres.warning == nil)
}

@Test(arguments: ["disable", "allow", "prefer"])
func `an sslmode that does not require TLS for a remote host causes a warning`(mode: String) throws {
  #expect(try postgres("host=db.internal sslmode=\(mode)").postgres.warning?.contains(mode) == true)
}

@Test(arguments: [
  ("store.postgres.conninfo", "host=db.internal", ""), ("store.postgres.conninfo", "dbname=latchkey", ""),
  ("store.postgres.conninfo", "host=127.db.example", ""), ("store.postgres.conninfo", "host=127.1", ""),
  ("store.postgres.conninfo", "hostaddr=192.0.2.1", ""), ("store.postgres.conninfo", "host=localhost,db2", ""),
  ("store.postgres.conninfo", "hsot=localhost", ""), ("store.postgres.conninfo", "host='localhost", ""),
  ("store.path", "host=localhost", ", path: \"latchkey.db\""),
  ("store.postgres.conninfo", "host=localhost password=geheim", ""),
  ("store.postgres.conninfo", "postgresql://u:geheim@localhost/x", ""),
  ("store.postgres.conninfo", "host=localhost password='geheim", ""),
])
func `an unusable conninfo is rejected, and the error does not contain the password`(
  setting: String, conninfo: String, more: String
) throws {
  let refused = try #require(refusal { try postgres(conninfo, more) })
  #expect(refused.setting == setting && !refused.why.contains("geheim"))
}

@Test func `a password file without a database is rejected, and so is a missing one`() throws {
  let alone = refusal { try settings("store: { postgres: { password_file: 'p' } }, ") }
  #expect(alone?.setting == "store.postgres.password_file")
  let read = try settings("store: { postgres: { conninfo: 'host=/run', password_file: 'nowhere' } }, ")
  #expect(read.postgres.passwordFile == "/etc/latchkey/nowhere")
  let absent = refusal { try read.postgres.checkFiles() }
  #expect(absent?.setting == "store.postgres.password_file")
  #expect(absent?.why == "/etc/latchkey/nowhere cannot be read: No such file or directory")
}
