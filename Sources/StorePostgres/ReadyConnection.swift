import CPostgres
import Glibc
import Reactor
import Store

/// A prepared connection in transit to its pool. It has one owner at a time.
@safe struct ReadyConnection: Sendable {
  nonisolated(unsafe) let handle: OpaquePointer

  struct Refusal: Error {
    let text: String
    /// The server's SQLSTATE. Empty if the connection was refused or broke.
    var state = ""
    /// The server did not respond in time on an open connection.
    var isSilent = false
    /// Whether it is lasting although neither the text nor the state says so.
    private var isDeclaredLasting = false

    init(text: String, state: String = "", isSilent: Bool = false, isLasting: Bool = false) {
      self.text = text
      self.state = state
      self.isSilent = isSilent
      isDeclaredLasting = isLasting
    }

    /// Parts of the libpq messages that indicate a lasting failure. libpq has no error state for a failed connection,
    /// only text. Any other text, such as that of a server in another language, counts as passing.
    private static let lasting = [
      "no password supplied", "authentication failed", "certificate verify failed", "does not match host name",
      "does not support SSL", "no pg_hba.conf entry", "does not exist", "root certificate", "invalid connection",
      "invalid port", "invalid integer", "invalid percent", "invalid URI", "invalid ssl", "invalid target",
      "the password file", "written by a newer version", "has the encoding", "latchkeyd --migrate",
    ]
    /// The beginning of each host's message, if the host was reached.
    private static let ofHost = "connection to server "

    /// Whether every retry would fail in the same way until the operator fixes the cause.
    var isLasting: Bool {
      if isDeclaredLasting { return true }
      let stateClass = state.prefix(2)
      // Connection failures, conflicts, resources, locks, operator intervention, system errors.
      if !state.isEmpty { return !["08", "40", "53", "55", "57", "58"].contains(stateClass) }
      // It is enough if one of several hosts recovers or resolves again.
      guard !text.contains("could not translate host name") else { return false }
      let hosts = text.split(separator: Refusal.ofHost)
      return !hosts.isEmpty && hosts.allSatisfy { host in Refusal.lasting.contains { host.contains($0) } }
    }
  }

  private static let passwordBytesMax = 4_096

  /// Connects, configures the session and prepares every statement. Blocks.
  static func make(
    _ options: Options, at host: Host? = nil, statements: [Statement] = Statement.all
  ) -> Result<ReadyConnection, Refusal> {
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

  /// Connects. Of several hosts, picks the one that accepts writes: the primary.
  ///
  /// - Parameter host: the only host to try. nil: all hosts.
  static func connect(_ options: Options, at host: Host? = nil) throws(Refusal) -> ReadyConnection {
    let password = options.passwordFile.isEmpty ? nil : try password(options.passwordFile)
    let answerMillis = options.statementMillis + options.slackMillis
    let connected = unsafe latchkey_postgres_connect(
      options.conninfo, password, "\(options.connectSeconds)", "\(answerMillis)", host?.name, host?.address, host?.port)
    guard let handle = unsafe connected else { throw Refusal(text: "no memory for a connection") }
    let made = unsafe ReadyConnection(handle: handle)
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
      let what = error.isPassing ? "the password" : "the password file"
      throw Refusal(text: "\(what) cannot be read: \(error.reason)")
    }
  }

  /// The process ID that the server stated at the start of the connection.
  var startedProcessID: Int32 { unsafe PQbackendPID(handle) }

  /// The host that the connection leads to.
  var host: Host? {
    guard let name = unsafe PQhost(handle), let address = unsafe PQhostaddr(handle), let port = unsafe PQport(handle)
    else { return nil }
    return unsafe Host(name: String(cString: name), address: String(cString: address), port: String(cString: port))
  }

  /// Closes a connection that no pool takes.
  func abandon() { unsafe PQfinish(handle) }

  // MARK: The session

  func configure(_ options: Options) throws(Refusal) {
    let deadline = ReadyConnection.deadline(options)
    try execute("SET statement_timeout = \(options.statementMillis)", by: deadline)
    try execute("SET lock_timeout = \(options.lockMillis)", by: deadline)
    try execute("SET idle_in_transaction_session_timeout = \(options.idleTransactionMillis)", by: deadline)
    try execute("SET standard_conforming_strings = on", by: deadline)
    // An acknowledged change must survive the loss of the server. A setting that also requires a standby stays.
    if ["off", "local"].contains(try text("SHOW synchronous_commit", by: deadline)) {
      try execute("SET synchronous_commit = on", by: deadline)
    }
  }

  /// Returns the deadline for requests that wait for no other transaction.
  static func deadline(_ options: Options) -> Int64 {
    monotonicMillis() + options.statementMillis + options.slackMillis
  }

  /// Requires the encoding UTF8. Another encoding rejects the characters that it lacks, and SQL_ASCII does not know
  /// what it stores.
  func requireUTF8(by deadline: Int64?) throws(Refusal) {
    let encoding = try text("SHOW server_encoding", by: deadline)
    guard encoding == "UTF8" else {
      throw Refusal(
        text: "the database has the encoding \(encoding), which cannot hold every text: use one that was created WITH "
          + "ENCODING 'UTF8' TEMPLATE template0")
    }
  }

  /// Prepares the statements in one round trip.
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
        // A null result ends the results of a statement.
        _ = try takeResult(by: deadline)
      }
      _ = try takeResult(by: deadline)
    } catch {
      // Prefers the error with which the server closed the connection.
      throw refusal ?? error
    }
    if let refusal { throw refusal }
    guard unsafe PQstatus(handle) == CONNECTION_OK else { throw fault }
  }

  private func takeResult(by deadline: Int64) throws(Refusal) -> Refusal? {
    guard let result = unsafe try nextResult(by: deadline) else { return nil }
    defer { unsafe PQclear(result) }
    return unsafe ReadyConnection.refusal(result)
  }

  // MARK: Calls before pipeline mode

  /// Runs statements without values.
  ///
  /// - Parameter deadline: when to stop waiting for the response, by the monotonic clock. nil: never.
  func execute(_ sql: String, by deadline: Int64? = nil) throws(Refusal) {
    let result = unsafe try ask(sql, by: deadline)
    defer { unsafe PQclear(result) }
    if let refusal = unsafe ReadyConnection.refusal(result) { throw refusal }
  }

  /// Returns the first column of the first row. Empty: there is none.
  func text(_ sql: String, by deadline: Int64? = nil) throws(Refusal) -> String {
    let result = unsafe try ask(sql, by: deadline)
    defer { unsafe PQclear(result) }
    if let refusal = unsafe ReadyConnection.refusal(result) { throw refusal }
    guard unsafe PQntuples(result) > 0, let value = unsafe PQgetvalue(result, 0, 0) else { return "" }
    return unsafe String(cString: value)
  }

  /// Returns the last result, like PQexec.
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

  /// PQgetResult with a deadline. A server that hangs, or a proxy in front of it, may keep the connection open without
  /// a response. No libpq setting limits that.
  @unsafe private func nextResult(by deadline: Int64) throws(Refusal) -> OpaquePointer? {
    while true {
      let unsent = unsafe PQflush(handle)
      guard unsent >= 0 else { throw fault }
      if unsafe PQisBusy(handle) == 0 { return unsafe PQgetResult(handle) }
      let events = unsent == 0 ? POLLIN : POLLIN | POLLOUT
      var socket = pollfd(fd: unsafe PQsocket(handle), events: Int16(events), revents: 0)
      let millis = deadline - monotonicMillis()
      guard millis > 0 else {
        throw Refusal(text: "the server accepted the connection but did not answer", isSilent: true)
      }
      // After an interruption or a timeout, the loop checks again.
      _ = unsafe poll(&socket, 1, Int32(clamping: millis))
      guard unsafe PQconsumeInput(handle) == 1 else { throw fault }
    }
  }

  @unsafe static func refusal(_ result: OpaquePointer?) -> Refusal? {
    switch unsafe PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY, PGRES_PIPELINE_SYNC: return nil
    case PGRES_PIPELINE_ABORTED: return Refusal(text: "an earlier statement failed")
    default:
      guard let state = unsafe latchkey_postgres_state(result), let message = unsafe latchkey_postgres_message(result)
      else { return Refusal(text: "the connection was closed") }
      return unsafe Refusal(
        text: "PostgreSQL \(String(cString: state)): \(String(cString: message))",
        state: String(cString: state))
    }
  }

  var fault: Refusal { unsafe Refusal(text: ReadyConnection.line(PQerrorMessage(handle))) }

  /// A libpq message on one line.
  @unsafe static func line(_ text: UnsafePointer<CChar>?) -> String {
    guard let text = unsafe text else { return "" }
    let words = unsafe String(cString: text).split { $0 == "\n" || $0 == "\t" }
    return words.joined(separator: " ")
  }
}
