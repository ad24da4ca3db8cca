/// Durable storage for one user's session.
///
/// ``SessionKeeper`` saves a session before it returns its tokens. The session contains secrets: encrypt it, or
/// restrict who can read it.
public protocol SessionStorage: Sendable {
  /// Returns the saved session, or nil if there is none.
  func load() async throws -> Latchkey_V1_Session?

  /// Replaces the saved session. Returns when the session would survive a crash.
  func save(_ session: Latchkey_V1_Session) async throws

  /// Removes the saved session. Succeeds if there is none.
  func remove() async throws
}

/// Storage in memory, for sessions that end with the process.
public actor InMemorySessionStorage: SessionStorage {
  private var session: Latchkey_V1_Session?

  /// Creates storage with a session or without one.
  public init(_ session: Latchkey_V1_Session? = nil) { self.session = session }

  public func load() -> Latchkey_V1_Session? { session }

  public func save(_ session: Latchkey_V1_Session) { self.session = session }

  public func remove() { session = nil }
}
