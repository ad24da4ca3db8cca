// Observability: the log, the metrics and the spans of traces.
//
// Owns: the JSON log, the catalogue and the registry of metrics, the counters of calls and of rarer events, the names
// of the limits in both, the health of the store as the health service reports it, and the spans of sampled calls.
// Does not own: the endpoint that serves the metrics (HTTP1), the export of spans (Telemetry), the limits themselves
// (Transport).
// Read next: ServerMetrics.swift, MetricsRegistry.swift, CallMetrics.swift.

package import Callers
internal import Encodings
internal import GRPC
internal import Identity
package import Logging
internal import Protobuf
internal import Reactor
package import Services
internal import Store
internal import Synchronization

/// The server's log: one JSON object a line, without secrets. It checks the level before it builds any text.
package struct Log: Sendable {
  private let logger: Logger
  private let lines: JSONLines

  package init(_ lines: JSONLines) {
    self.lines = lines
    logger = Logger(label: "latchkeyd") { _ in lines }
  }

  package func info(_ message: String, _ fields: [String: String] = [:]) { write(.info, message, fields) }
  package func warning(_ message: String, _ fields: [String: String] = [:]) { write(.warning, message, fields) }
  package func error(_ message: String, _ fields: [String: String] = [:]) { write(.error, message, fields) }

  package func debug(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> [String: String] = [:]) {
    if logger.logLevel <= .debug { write(.debug, message(), fields()) }
  }

  /// Changes the level of this log and of all its copies.
  package func use(_ level: Logger.Level) { lines.logLevel = level }

  /// Number of lines dropped because too many waited to be written.
  package var droppedLines: Int { lines.droppedInAll }

  /// Logs that a client reached a limit.
  package func reached(_ limit: LimitKind, _ address: String) {
    debug("limit", ["limit": limit.rawValue, "address": address])
  }

  /// Logs a call that did more than a look-up; successful look-ups are only counted. Bypasses `Logger`, because its
  /// metadata dictionary is the main cost of a line.
  /// - Parameters:
  ///   - tookNanos: time since the call began.
  ///   - clientGone: the client disconnected before the response.
  package func call(_ context: CallContext, outcome: String, tookNanos: Int64, clientGone: Bool = false) {
    guard logger.logLevel <= .info else { return }
    var fields = [
      ("caller", context.caller.name.text), ("credential", context.caller.credential.rawValue),
      ("method", context.path), ("outcome", outcome), ("peer", context.peerAddress),
    ]
    if !context.actor.isEmpty { fields.insert(("actor", context.actor), at: 0) }
    fields += Log.identity(of: context, tookNanos)
    if clientGone { fields.append(Log.clientGone) }
    lines.write(.info, "call", fields)
  }

  /// What identifies the call in other places, and its duration.
  private static func identity(of context: CallContext, _ tookNanos: Int64) -> [(String, String)] {
    var fields = [("request_id", context.trace.requestID), ("took_micros", String(tookNanos / 1_000))]
    if context.trace.hasOwnTraceID { fields.append(("trace_id", context.trace.traceID.text)) }
    if let accountID = context.notes?.content.accountID { fields.append(("account_id", accountID)) }
    return fields
  }

  private static let clientGone = ("client", "gone")

  /// Logs a call of an unidentified caller.
  package func call(_ path: String, of peerAddress: String, _ refusal: CallerRefusal) {
    var fields = ["method": path, "outcome": Failure.Reason.callerUnidentified.rawValue, "peer": peerAddress]
    if case .expired(let caller, let key) = refusal {
      fields.merge(["caller": caller.text, "debug": "the API key has expired", "key": key]) { $1 }
    } else {
      fields["debug"] = "\(refusal)"
    }
    write(.info, "call", fields)
  }

  /// Logs a failed call: a rejected one at `info`, an internal error at `error`. Only the log contains the text of an
  /// internal error.
  package func call(_ context: CallContext, error: any Error, tookNanos: Int64, clientGone: Bool = false) {
    switch error {
    case let failure as Failure:
      guard logger.logLevel <= .info else { return }
      var fields = fields(context, failure.reason.rawValue, tookNanos)
      if clientGone { fields[Log.clientGone.0] = .string(Log.clientGone.1) }
      if let field = failure.field { fields["field"] = .string(field) }
      if !failure.debug.isEmpty { fields["debug"] = .string(failure.debug) }
      write(.info, "call", fields)
    case let error as ProtobufError:
      var fields = fields(context, Log.outcome(of: error), tookNanos)
      if case .text(let field) = error { fields["field"] = .string(field) }
      if case .malformed(let fault) = error { fields["debug"] = .string("malformed: \(fault.rawValue)") }
      write(.info, "call", fields)
    // Without the name, which is client input of any length.
    case is HealthService.UnknownService: write(.info, "call", fields(context, "NOT_FOUND", tookNanos))
    default:
      var fields = fields(context, "INTERNAL", tookNanos)
      fields["error"] = .string("\(error)")
      write(.error, "call", fields)
    }
  }

  /// The outcome as the client receives it: a reason, or the name of a status without one.
  private static func outcome(of error: ProtobufError) -> String {
    switch error {
    case .text: Failure.Reason.invalidField.rawValue
    case .malformed: "INTERNAL"
    case .tooLarge: "RESOURCE_EXHAUSTED"
    }
  }

  private func fields(_ context: CallContext, _ outcome: String, _ tookNanos: Int64) -> Logger.Metadata {
    var fields: Logger.Metadata = [
      "caller": .string(context.caller.name.text), "credential": .string(context.caller.credential.rawValue),
      "method": .string(context.path), "outcome": .string(outcome), "peer": .string(context.peerAddress),
    ]
    // A rejected name can have any length and any bytes.
    if !context.actor.isEmpty, context.caller.mayNameActor, context.actor.utf8.count <= ActorShape.bytesMax {
      fields["actor"] = .string(context.actor)
    }
    for (name, value) in Log.identity(of: context, tookNanos) { fields[name] = .string(value) }
    return fields
  }

  private func write(_ level: Logger.Level, _ message: String, _ fields: [String: String]) {
    write(level, message, fields.mapValues { .string($0) })
  }

  private func write(_ level: Logger.Level, _ message: String, _ fields: Logger.Metadata) {
    logger.log(level: level, Logger.Message(stringLiteral: message), metadata: fields)
  }
}

/// Log handler that formats JSON lines and passes them to a thread, so that no reactor waits for a terminal or a full
/// disk.
package struct JSONLines: LogHandler {
  /// All copies share the level, so that a reload of the configuration can change it.
  package var logLevel: Logger.Level {
    get { level.value }
    nonmutating set { level.value = newValue }
  }
  package var metadata: Logger.Metadata = [:]
  private let writer: LineWriter
  private let level: SharedLevel

  /// - Parameter waitingBytesMax: maximum number of bytes that wait to be written.
  package init(level: Logger.Level, descriptor: Int32, waitingBytesMax: Int = 4 << 20) {
    self.level = SharedLevel(level)
    writer = LineWriter(descriptor: descriptor, waitingBytesMax: waitingBytesMax)
  }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }
    write(event.level, event.message.description, fields.map { ($0.key, $0.value.description) })
  }

  package func write(_ level: Logger.Level, _ message: String, _ fields: [(name: String, value: String)]) {
    let now = wallMillis()
    writer.write(JSONLines.line(atMillis: now, level, message, fields), nowMillis: now)
  }

  package static func line(
    atMillis millis: Int64, _ level: Logger.Level, _ message: String, _ fields: [(name: String, value: String)]
  ) -> [UInt8] {
    var line: [UInt8] = []
    line.reserveCapacity(256)
    line += #"{"at":""#.utf8
    appendRFC3339(millis, to: &line)
    line += #"","level":""#.utf8
    line += level.rawValue.utf8
    line += #"","message":"#.utf8
    JSONText.append(message, to: &line)
    for (name, value) in fields {
      line.append(UInt8(ascii: ","))
      JSONText.append(name, to: &line)
      line.append(UInt8(ascii: ":"))
      JSONText.append(value, to: &line)
    }
    line += "}\n".utf8
    return line
  }

  var droppedInAll: Int { writer.droppedInAll }

  /// Writes all waiting lines. Call it before the process ends.
  package func flush() { writer.flush() }
}

/// A log level that several threads read for each line.
private final class SharedLevel: Sendable {
  private let index: Atomic<Int>

  init(_ level: Logger.Level) { index = Atomic(SharedLevel.index(of: level)) }

  var value: Logger.Level {
    get {
      switch index.load(ordering: .relaxed) {
      case 0: .trace
      case 1: .debug
      case 2: .info
      case 3: .notice
      case 4: .warning
      case 5: .error
      default: .critical
      }
    }
    set { index.store(SharedLevel.index(of: newValue), ordering: .relaxed) }
  }

  private static func index(of level: Logger.Level) -> Int {
    switch level {
    case .trace: 0
    case .debug: 1
    case .info: 2
    case .notice: 3
    case .warning: 4
    case .error: 5
    case .critical: 6
    }
  }
}

/// Lines that wait to be written. Past the byte limit further lines are dropped, and a log line states their number.
struct WaitingLines {
  private let bytesMax: Int
  private var bytes: [UInt8] = []
  /// Lines dropped since the last `take`.
  private var dropped = 0
  private var droppedSinceMillis: Int64 = 0
  private var isAwaited = false
  private(set) var droppedInAll = 0

  init(bytesMax: Int) { self.bytesMax = bytesMax }

  /// Appends a line. Returns whether it is the first since the last `take`, so that the writer must be woken.
  mutating func append(_ line: [UInt8], nowMillis: Int64) -> Bool {
    if bytes.count + line.count <= bytesMax {
      bytes += line
    } else {
      lose(1, nowMillis: nowMillis)
    }
    defer { isAwaited = true }
    return !isAwaited
  }

  /// Counts lost lines.
  /// - Parameter unreported: lines lost earlier whose report was lost as well.
  mutating func lose(_ lines: Int, unreported: Int = 0, nowMillis: Int64) {
    if dropped == 0 { droppedSinceMillis = nowMillis }
    dropped += lines + unreported
    droppedInAll += lines
  }

  /// Removes the waiting lines.
  /// - Returns: the lines to write, and the number of dropped lines that the last line reports.
  mutating func take() -> (bytes: [UInt8], reported: Int) {
    if dropped > 0 {
      bytes += JSONLines.line(atMillis: droppedSinceMillis, .warning, "log lines dropped", [("count", "\(dropped)")])
    }
    defer {
      bytes = []
      dropped = 0
      isAwaited = false
    }
    return (bytes, dropped)
  }
}

/// Writer of whole lines, on a separate thread.
private final class LineWriter: Sendable {
  private static let gatherMillis: UInt32 = 5
  private let waiting: Mutex<WaitingLines>
  /// Held while lines are written, to keep their order and to let `flush` wait for a write in progress. The value
  /// states whether the last write ended within a line.
  private let writing = Mutex(false)
  private let descriptor: Int32
  private let wakeups = Wakeups()

  init(descriptor: Int32, waitingBytesMax: Int) {
    self.descriptor = descriptor
    waiting = Mutex(WaitingLines(bytesMax: waitingBytesMax))
    startThread(named: "log") { [self] in
      while true {
        wakeups.wait()
        // Further lines follow soon. A system call for each would cost as much as the line.
        sleepThread(millis: LineWriter.gatherMillis)
        flush()
      }
    }
  }

  var droppedInAll: Int { waiting.withLock { $0.droppedInAll } }

  func write(_ line: [UInt8], nowMillis: Int64) {
    if waiting.withLock({ $0.append(line, nowMillis: nowMillis) }) { wakeups.signal() }
  }

  /// Writes all waiting lines; returns when every earlier line is written, even by another thread. Concurrent writes
  /// would mix their lines, and the end of the process would not wait for the other thread.
  func flush() {
    let lineEnd = UInt8(ascii: "\n")
    writing.withLock { isTorn in
      let (lines, reported) = waiting.withLock { $0.take() }
      let bytes = (isTorn ? [lineEnd] : []) + lines
      let written = writeAll(bytes, to: descriptor)
      guard written < bytes.count else {
        isTorn = false
        return
      }
      // A full disk may have space again for the next lines. The line that reports the dropped ones does not count as
      // lost.
      let lost = bytes[max(written, bytes.count - lines.count)...].count { $0 == lineEnd } - (reported > 0 ? 1 : 0)
      if written > 0 { isTorn = bytes[written - 1] != lineEnd }
      waiting.withLock { $0.lose(lost, unreported: reported, nowMillis: wallMillis()) }
    }
  }
}
