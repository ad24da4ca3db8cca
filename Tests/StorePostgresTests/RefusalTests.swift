import Store
import Testing

@testable import StorePostgres

@Test(arguments: [
  "connection to server at \"db\" (192.0.2.1), port 5432 failed: Connection refused", "timeout expired",
  "connection to server at \"db\", port 5432 failed: FATAL:  the database system is starting up", "",
  "connection to server at \"a\" failed: Connection refused connection to server at \"b\" failed: "
    + "FATAL:  no pg_hba.conf entry for host", "received invalid response to SSL negotiation: H",
  "could not translate host name \"a\" to address: Name or service not known connection to server at \"b\" failed: "
    + "FATAL:  no pg_hba.conf entry for host",
  "connection to server at \"b\" failed: FATAL:  no pg_hba.conf entry for host could not translate host name \"a\" to "
    + "address: Temporary failure in name resolution",
])
func `a missing answer of the database is a temporary error`(text: String) {
  #expect(!ReadyConnection.Refusal(text: text).isLasting)
}

@Test(arguments: [
  "FATAL:  password authentication failed for user \"us\"", "fe_sendauth: no password supplied",
  "SSL error: certificate verify failed", "FATAL:  database \"latchkey\" does not exist",
  "connection to server at \"a\" failed: FATAL:  database \"l\" does not exist connection to server at \"b\" failed: "
    + "FATAL:  no pg_hba.conf entry for host",
  "invalid sslmode value: \"on\"", "invalid connection option \"hots\"", "invalid port number: \"x\"",
  "the store has schema 9, this program knows 3: it was written by a newer version",
  "the database has the encoding LATIN1, which cannot hold every text: use one that was created WITH ENCODING 'UTF8'",
])
func `an error that an operator must fix is permanent`(text: String) {
  #expect(ReadyConnection.Refusal(text: text).isLasting)
}

@Test(arguments: [("55P03", false), ("40001", false), ("57P01", false), ("53300", false), ("42501", true)])
func `the SQLSTATE decides, if the server sends one`(state: String, isLasting: Bool) {
  #expect(ReadyConnection.Refusal(text: "", state: state).isLasting == isLasting)
}

@Test(.enabled(if: Place.isThere), arguments: ["LATIN1", "SQL_ASCII"])
func `a server and a move reject a database that cannot store every text, and write nothing`(
  encoding: String
) throws {
  let place = try Place(encoding: encoding)
  let ofServer = #expect(throws: StoreError.self) { try place.open() }
  guard case .unusable(let text)? = ofServer else { throw StoreError.corrupt("it is no lasting fault") }
  #expect(text.contains("the encoding \(encoding)") && text.contains("UTF8"))
  let ofMove = #expect(throws: TablesError.self) {
    try PostgresTables(conninfo: place.conninfo, passwordFile: "")
  }
  #expect(ofMove == TablesError(text))
  #expect(try place.text("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == "0")
}
