import CPostgres
import Glibc
import Reactor
import Store

/// A connection that is ready for its desk, on its way there: one owner at a time.
@safe struct MadeConnection: Sendable {
  nonisolated(unsafe) let handle: OpaquePointer

  struct Refusal: Error {
    let text: String
    /// The server's; empty where the connection was refused, or broke.
    var state = ""
    /// Nobody answered in time, on a connection that stands.
    var isSilent = false

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
        try made.prepare(statements, by: deadline(options))
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
    let deadline = MadeConnection.deadline(options)
    try execute(
      """
      SET statement_timeout = \(options.statementMillis); SET lock_timeout = \(options.lockMillis);
      SET idle_in_transaction_session_timeout = \(options.idleTransactionMillis);
      SET standard_conforming_strings = on
      """, by: deadline)
    // An acknowledged change must survive the loss of the server; one that a standby has to have as well stays so.
    if ["off", "local"].contains(try text("SHOW synchronous_commit", by: deadline)) {
      try execute("SET synchronous_commit = on", by: deadline)
    }
  }

  /// By when whatever waits for nobody is answered.
  static func deadline(_ options: Options) -> Int64 {
    monotonicMillis() + options.statementMillis + options.slackMillis
  }

  /// What another encoding lacks is refused whenever somebody brings it, and SQL_ASCII does not know what it holds.
  func requireUTF8(by deadline: Int64?) throws(Refusal) {
    let encoding = try text("SHOW server_encoding", by: deadline)
    guard encoding == "UTF8" else {
      throw Refusal(
        text: "the database has the encoding \(encoding), which cannot hold every text: take one that was made WITH "
          + "ENCODING 'UTF8' TEMPLATE template0")
    }
  }

  /// In one round trip.
  private func prepare(_ statements: [Statement], by deadline: Int64) throws(Refusal) {
    guard unsafe PQsetnonblocking(handle, 1) == 0, unsafe PQenterPipelineMode(handle) == 1 else { throw fault }
    for statement in statements {
      guard unsafe PQsendPrepare(handle, statement.name, statement.sql, 0, nil) == 1 else { throw fault }
    }
    guard unsafe PQpipelineSync(handle) == 1 else { throw fault }
    var refusal: Refusal?
    do throws(Refusal) {
      for statement in statements {
        if let error = try takeResult(by: deadline) {
          refusal = refusal ?? Refusal(text: "statement \(statement.name): \(error.text)")
        }
        // A statement's results end with none.
        _ = try takeResult(by: deadline)
      }
      _ = try takeResult(by: deadline)
    } catch {
      // The server's own words, where it closed the connection with them.
      throw refusal ?? error
    }
    if let refusal { throw refusal }
    guard unsafe PQstatus(handle) == CONNECTION_OK else { throw fault }
  }

  private func takeResult(by deadline: Int64) throws(Refusal) -> Refusal? {
    guard let result = unsafe try nextResult(by: deadline) else { return nil }
    defer { unsafe PQclear(result) }
    return unsafe MadeConnection.refusal(result)
  }

  // MARK: Before the pipeline

  /// Several statements, without values.
  /// - Parameter by: until when, by the monotonic clock, the answer is waited for; nil: however long it takes.
  func execute(_ sql: String, by deadline: Int64? = nil) throws(Refusal) {
    let result = unsafe try ask(sql, by: deadline)
    defer { unsafe PQclear(result) }
    if let refusal = unsafe MadeConnection.refusal(result) { throw refusal }
  }

  /// The first column of the first row; empty where there is none.
  func text(_ sql: String, by deadline: Int64? = nil) throws(Refusal) -> String {
    let result = unsafe try ask(sql, by: deadline)
    defer { unsafe PQclear(result) }
    if let refusal = unsafe MadeConnection.refusal(result) { throw refusal }
    guard unsafe PQntuples(result) > 0, let value = unsafe PQgetvalue(result, 0, 0) else { return "" }
    return unsafe String(cString: value)
  }

  /// The last answer, as of PQexec.
  @unsafe private func ask(_ sql: String, by deadline: Int64?) throws(Refusal) -> OpaquePointer? {
    guard let deadline else { return unsafe PQexec(handle, sql) }
    guard unsafe PQsendQuery(handle, sql) == 1 else { throw fault }
    var last: OpaquePointer?
    do throws(Refusal) {
      while let result = unsafe try nextResult(by: deadline) {
        unsafe PQclear(last)
        unsafe last = unsafe result
      }
    } catch {
      unsafe PQclear(last)
      throw error
    }
    return unsafe last
  }

  /// PQgetResult with an end: a server that hangs, or whatever stands before it, may keep the connection open and say
  /// nothing, and no setting of libpq limits that.
  @unsafe private func nextResult(by deadline: Int64) throws(Refusal) -> OpaquePointer? {
    while true {
      let unsent = unsafe PQflush(handle)
      guard unsent >= 0 else { throw fault }
      if unsafe PQisBusy(handle) == 0 { return unsafe PQgetResult(handle) }
      let events = unsent == 0 ? POLLIN : POLLIN | POLLOUT
      var socket = pollfd(fd: unsafe PQsocket(handle), events: Int16(events), revents: 0)
      let millis = deadline - monotonicMillis()
      guard millis > 0 else {
        throw Refusal(text: "the server took the connection and did not answer", isSilent: true)
      }
      // Interrupted or over: asked again, or at its end.
      _ = unsafe poll(&socket, 1, Int32(clamping: millis))
      guard unsafe PQconsumeInput(handle) == 1 else { throw fault }
    }
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
