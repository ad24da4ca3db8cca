internal import Callers
internal import Crypto
internal import Reactor
internal import Services
internal import Store

/// The caller of a connection: the name in its certificate, and the caller of its last call. Most calls carry the same
/// credentials as the call before.
struct ConnectionCaller {
  private var certificateName: String?
  private var authorization: [UInt8] = []
  private var forwarded: [UInt8] = []
  private var caller: Caller?
  private var hasLoggedUnknown = false
  private var hasLoggedIgnored = false

  /// - Parameter certificateName: `nil` if the client has no certificate, empty if its name is unusable.
  init(certificateName: String? = nil) { self.certificateName = certificateName }

  /// Returns the caller. Evaluates `table` only if the credentials differ from the last call, so most calls do not copy
  /// it. Records the use of an API key.
  /// - Parameter forwarded: the value of `x-forwarded-client-cert`, which counts only if a trusted proxy sends it.
  mutating func identify(
    _ table: @autoclosure () -> CallerTable, authorization: [UInt8], forwarded: [UInt8] = [], nowMillis: Int64
  ) throws(CallerRefusal) -> Caller {
    if let caller, constantTimeEquals(self.authorization, authorization), self.forwarded == forwarded {
      try caller.checkKey(now: Timestamp(millis: wallMillis()))
      caller.apiKey?.used(nowMillis: nowMillis)
      return caller
    }
    let found = try evaluate(table(), authorization: authorization, forwarded: forwarded)
    (self.authorization, self.forwarded) = (authorization, forwarded)
    caller = found
    found.apiKey?.used(nowMillis: nowMillis)
    return found
  }

  private func evaluate(
    _ table: CallerTable, authorization: [UInt8], forwarded: [UInt8]
  ) throws(CallerRefusal) -> Caller {
    if table.trusts(certificateName) {
      return try table.identify(
        forwarded: forwarded, authorization: authorization, now: Timestamp(millis: wallMillis()))
    }
    return try table.identify(
      certificateName: certificateName, authorization: authorization, now: Timestamp(millis: wallMillis()))
  }

  /// Returns whether an `x-forwarded-client-cert` of this connection is ignored.
  func ignoresForward(_ table: CallerTable) -> Bool { !table.trusts(certificateName) }

  /// Whether this is the first ignored `x-forwarded-client-cert`. Only the first is logged.
  mutating func isFirstIgnored() -> Bool {
    defer { hasLoggedIgnored = true }
    return !hasLoggedIgnored
  }

  /// Identifies the cached caller again after a reload of the configuration. Returns whether its credentials are still
  /// valid.
  mutating func refresh(_ table: CallerTable) -> Bool {
    guard caller != nil else { return false }
    caller = try? evaluate(table, authorization: authorization, forwarded: forwarded)
    return caller != nil
  }

  /// Whether a call in progress may continue after a reload of the configuration. A call that watches must still have
  /// its caller and its right. Several callers can share a connection, so the cached caller may be another one.
  func mayContinue(_ call: ServerCall, _ table: CallerTable) -> Bool {
    guard let credentials = call.credentials else { return true }
    let present = try? evaluate(table, authorization: credentials.authorization, forwarded: credentials.forwarded)
    guard let present, present.name == call.context.caller.name else { return false }
    return present.rights.include(methodNumber: call.number)
  }

  var isCached: Bool { caller != nil }

  /// Whether a rejected call of a caller is logged: of unidentified callers, only the first.
  mutating func isLogged(_ caller: Caller) -> Bool { caller.isIdentified || isFirstUnknown() }

  /// Whether this is the first rejected call of an unidentified caller. Only the first is logged, so unauthenticated
  /// clients cannot flood the log.
  mutating func isFirstUnknown() -> Bool {
    defer { hasLoggedUnknown = true }
    return !hasLoggedUnknown
  }
}
