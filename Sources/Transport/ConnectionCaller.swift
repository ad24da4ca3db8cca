internal import Callers
internal import Crypto

/// The caller of a connection: the name in its certificate, and the caller of its last call. Most calls carry the same
/// credentials as the call before.
struct ConnectionCaller {
  private var certificateName: String?
  private var authorization: [UInt8] = []
  private var caller: Caller?
  private var hasLoggedUnknown = false

  /// - Parameter certificateName: `nil` if the client has no certificate, empty if its name is unusable.
  init(certificateName: String? = nil) { self.certificateName = certificateName }

  /// Returns the caller. Evaluates `table` only if the credentials differ from the last call, so most calls do not copy
  /// it.
  mutating func identify(
    _ table: @autoclosure () -> CallerTable, authorization: [UInt8]
  ) throws(CallerRefusal) -> Caller {
    if let caller, constantTimeEquals(self.authorization, authorization) { return caller }
    let found = try table().identify(certificateName: certificateName, authorization: authorization)
    self.authorization = authorization
    caller = found
    return found
  }

  /// Whether this is the first rejected call of an unidentified caller. Only the first is logged, so unauthenticated
  /// clients cannot flood the log.
  mutating func isFirstUnknown() -> Bool {
    defer { hasLoggedUnknown = true }
    return !hasLoggedUnknown
  }
}
