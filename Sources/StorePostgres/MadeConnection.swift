import CPostgres
import Reactor
import Store

/// A connection that is ready for its desk, on its way there: one owner at a time.
@safe struct MadeConnection: Sendable {
  nonisolated(unsafe) let handle: OpaquePointer

  struct Refusal: Error {
    let text: String
    /// The server's; empty where the connection was refused, or broke.
    var state = ""

    /// What libpq has no state for: it says only in words why there is no connection. Whatever is not among them, such
    /// as the words of a server in another language, may pass.
    private static let lasting = [
      "no password supplied", "authentication failed", "certificate verify failed", "does not match host name",
      "does not support SSL", "no pg_hba.conf entry", "does not exist", "root certificate", "invalid connection",
      "invalid port", "invalid integer", "invalid percent", "invalid URI", "invalid ssl", "invalid target",
      "the file of the password", "written by a newer version", "has the encoding",
    ]
    /// What each host's words begin with, where it was reached.
    private static let ofHost = "connection to server "

    /// Whether another attempt would be the same, for as long as nobody writes or does something otherwise.
    var isLasting: Bool {
      let stateClass = state.prefix(2)
      // The connection, another transaction, resources, locks, somebody's intervention, the system.
      if !state.isEmpty { return !["08", "40", "53", "55", "57", "58"].contains(stateClass) }
      // One of several hosts that comes back, or has a name again, is enough.
      guard !text.contains("could not translate host name") else { return false }
      let hosts = text.split(separator: Refusal.ofHost)
      return !hosts.isEmpty && hosts.allSatisfy { host in Refusal.lasting.contains { host.contains($0) } }
    }
  }

  private static let passwordBytesMax = 4_096

  /// Blocks: connects, sets what the session has to keep to, and prepares every statement.
  static func make(
    _ options: Options, at host: Host? = nil, statements: [Statement] = Statement.all
  ) -> Result<MadeConnection, Refusal> {
    do throws(Refusal) {
      let made = try connect(options, at: host)
      do throws(Refusal) {
        try made.configure(options)
        try made.prepare(statements)
        return .success(made)
      } catch {
        made.abandon()
        throw error
      }
    } catch {
      return .failure(error)
    }
  }

  /// Where several hosts are named, the one that can be written to: the primary.
  /// - Parameter host: asked alone.
  static func connect(_ options: Options, at host: Host? = nil) throws(Refusal) -> MadeConnection {
    let password = options.passwordFile.isEmpty ? nil : try password(options.passwordFile)
    let answerMillis = options.statementMillis + options.slackMillis
    let connected = unsafe latchkey_postgres_connect(
      options.conninfo, password, "\(options.connectSeconds)", "\(answerMillis)", host?.name, host?.address, host?.port)
    guard let handle = unsafe connected else { throw Refusal(text: "no memory for a connection") }
    let made = unsafe MadeConnection(handle: handle)
    guard unsafe PQstatus(handle) == CONNECTION_OK else {
      defer { made.abandon() }
      throw unsafe Refusal(text: line(PQerrorMessage(handle)))
    }
    unsafe latchkey_postgres_drop_notices(handle)
    return made
  }

  private static func password(_ path: String) throws(Refusal) -> String {
    do throws(SystemError) {
      let bytes = try wholeFile(path, bytesMax: passwordBytesMax)
      return String(decoding: bytes.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
    } catch {
      let what = error.isPassing ? "its password" : "the file of the password"
      throw Refusal(text: "\(what) cannot be read: \(error.reason)")
    }
  }

  /// Which of the hosts it leads to.
  var host: Host? {
    guard let name = unsafe PQhost(handle), let address = unsafe PQhostaddr(handle), let port = unsafe PQport(handle)
    else { return nil }
    return unsafe Host(name: String(cString: name), address: String(cString: address), port: String(cString: port))
  }

  /// For one that no desk takes.
  func abandon() { unsafe PQfinish(handle) }

  // MARK: The session

  func configure(_ options: Options) throws(Refusal) {
    try execute(
      """
      SET statement_timeout = \(options.statementMillis); SET lock_timeout = \(options.lockMillis);
      SET idle_in_transaction_session_timeout = \(options.idleTransactionMillis);
      SET standard_conforming_strings = on
      """)
    // An acknowledged change must survive the loss of the server; one that a standby has to have as well stays so.
    if ["off", "local"].contains(try text("SHOW synchronous_commit")) { try execute("SET synchronous_commit = on") }
  }

  /// What another encoding lacks is refused whenever somebody brings it, and SQL_ASCII does not know what it holds.
  func requireUTF8() throws(Refusal) {
    let encoding = try text("SHOW server_encoding")
    guard encoding == "UTF8" else {
      throw Refusal(
        text: "the database has the encoding \(encoding), which cannot hold every text: take one that was made WITH "
          + "ENCODING 'UTF8' TEMPLATE template0")
    }
  }

  /// In one round trip.
  private func prepare(_ statements: [Statement]) throws(Refusal) {
    guard unsafe PQenterPipelineMode(handle) == 1 else { throw fault }
    for statement in statements {
      guard unsafe PQsendPrepare(handle, statement.name, statement.sql, 0, nil) == 1 else { throw fault }
    }
    guard unsafe PQpipelineSync(handle) == 1 else { throw fault }
    var refusal: Refusal?
    for statement in statements {
      if let error = takeResult() { refusal = refusal ?? Refusal(text: "statement \(statement.name): \(error.text)") }
      // A statement's results end with none.
      _ = takeResult()
    }
    _ = takeResult()
    if let refusal { throw refusal }
    guard unsafe PQstatus(handle) == CONNECTION_OK, unsafe PQsetnonblocking(handle, 1) == 0 else { throw fault }
  }

  private func takeResult() -> Refusal? {
    guard let result = unsafe PQgetResult(handle) else { return nil }
    defer { unsafe PQclear(result) }
    return unsafe MadeConnection.refusal(result)
  }

  // MARK: Before the pipeline

  /// Several statements, without values.
  func execute(_ sql: String) throws(Refusal) {
    let result = unsafe PQexec(handle, sql)
    defer { unsafe PQclear(result) }
    if let refusal = unsafe MadeConnection.refusal(result) { throw refusal }
  }

  /// The first column of the first row; empty where there is none.
  func text(_ sql: String) throws(Refusal) -> String {
    let result = unsafe PQexec(handle, sql)
    defer { unsafe PQclear(result) }
    if let refusal = unsafe MadeConnection.refusal(result) { throw refusal }
    guard unsafe PQntuples(result) > 0, let value = unsafe PQgetvalue(result, 0, 0) else { return "" }
    return unsafe String(cString: value)
  }

  @unsafe static func refusal(_ result: OpaquePointer?) -> Refusal? {
    switch unsafe PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY, PGRES_PIPELINE_SYNC: return nil
    case PGRES_PIPELINE_ABORTED: return Refusal(text: "an earlier statement was refused")
    default:
      guard let state = unsafe latchkey_postgres_state(result), let message = unsafe latchkey_postgres_message(result)
      else { return Refusal(text: "the connection was closed") }
      return unsafe Refusal(
        text: "PostgreSQL \(String(cString: state)): \(String(cString: message))",
        state: String(cString: state))
    }
  }

  var fault: Refusal { unsafe Refusal(text: MadeConnection.line(PQerrorMessage(handle))) }

  /// libpq's words on one line.
  @unsafe static func line(_ text: UnsafePointer<CChar>?) -> String {
    guard let text = unsafe text else { return "" }
    let words = unsafe String(cString: text).split { $0 == "\n" || $0 == "\t" }
    return words.joined(separator: " ")
  }
}
