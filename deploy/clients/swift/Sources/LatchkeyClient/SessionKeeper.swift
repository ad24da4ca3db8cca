private import GRPCCore
private import SwiftProtobuf

#if canImport(FoundationEssentials)
private import FoundationEssentials
#else
private import Foundation
#endif

/// Keeps the tokens of one user's session, and refreshes them before they expire.
///
/// ```swift
/// let keeper = try await SessionKeeper(starting: response.session, with: client.sessions, storage: storage)
/// let token = try await keeper.idToken()
/// ```
///
/// One refresh runs at a time, because the server ends a session whose spent refresh token comes a second time.
/// Processes that share a session need a lock of their own. If the response of a refresh is lost, the next call repeats
/// it under the same idempotency key.
public actor SessionKeeper {
  /// The session as last received.
  public private(set) var session: Latchkey_V1_Session

  private let service: any Latchkey_V1_SessionService.ClientProtocol
  private let storage: any SessionStorage
  private let margin: Duration
  private let userClient: Latchkey_V1_ClientContext?
  private var idempotencyKey: String?
  /// No refresh before this time, unless the ID token expires.
  var nextAttempt = ContinuousClock.now
  private var isLocked = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  /// Saves and keeps the session of a sign-in.
  ///
  /// - Parameters:
  ///   - session: The session of the response.
  ///   - service: ``LatchkeyClient/sessions`` of the client that received it. No other caller can refresh it.
  ///   - storage: Receives each new session before its tokens are used.
  ///   - margin: Time before the expiry of an ID token at which the keeper refreshes it.
  ///   - userClient: Describes the user's client in each call.
  public init(
    starting session: Latchkey_V1_Session, with service: any Latchkey_V1_SessionService.ClientProtocol,
    storage: any SessionStorage = InMemorySessionStorage(), margin: Duration = .seconds(300),
    userClient: Latchkey_V1_ClientContext? = nil
  ) async throws {
    try await storage.save(session)
    self.init(session, service, storage, margin, userClient)
  }

  /// Keeps the session that the storage contains. Returns nil if there is none. The parameters are those of
  /// ``init(starting:with:storage:margin:userClient:)``.
  public init?(
    restoring storage: any SessionStorage, with service: any Latchkey_V1_SessionService.ClientProtocol,
    margin: Duration = .seconds(300), userClient: Latchkey_V1_ClientContext? = nil
  ) async throws {
    guard let session = try await storage.load() else { return nil }
    self.init(session, service, storage, margin, userClient)
  }

  private init(
    _ session: Latchkey_V1_Session, _ service: any Latchkey_V1_SessionService.ClientProtocol,
    _ storage: any SessionStorage, _ margin: Duration, _ userClient: Latchkey_V1_ClientContext?
  ) {
    self.session = session
    self.service = service
    self.storage = storage
    self.margin = margin
    self.userClient = userClient
  }

  /// Returns an ID token that has not expired. Refreshes the session if the token expires within the margin.
  ///
  /// While the server is unavailable, returns the present token until it expires. If the storage throws, the keeper
  /// keeps the earlier session, and the next call repeats the refresh.
  ///
  /// - Throws: ``LatchkeyError``. If the session has ended, the keeper has removed it from the storage: discard the
  ///   keeper, and let the user sign in. Also the error of the storage, and `CancellationError`.
  public func idToken() async throws -> String {
    await lock()
    defer { unlock() }
    try Task.checkCancellation()
    if timeLeft > margin || (timeLeft > .zero && .now < nextAttempt) { return session.idToken }
    do {
      try await refresh()
    } catch let error as LatchkeyError where error.isTransient && timeLeft > .zero {
      nextAttempt = .now + max(pause, error.retryDelay ?? pause)
    } catch let error as LatchkeyError where error.endsSession {
      try await storage.remove()
      throw error
    }
    return session.idToken
  }

  /// Takes the session of a response, such as that of Link or Reauthenticate, and saves it.
  public func adopt(_ session: Latchkey_V1_Session) async throws {
    await lock()
    defer { unlock() }
    try await take(session)
  }

  /// Ends the session, and removes it from the storage. Succeeds again if it has already ended. Discard the keeper
  /// afterwards.
  public func signOut() async throws {
    await lock()
    defer { unlock() }
    _ = try await service.signOut(
      .with {
        $0.refreshToken = session.refreshToken
        if let userClient { $0.client = userClient }
      })
    try await storage.remove()
  }

  private func refresh() async throws {
    // A repeat after a lost response needs the same key.
    let key = idempotencyKey ?? makeIdempotencyKey()
    idempotencyKey = key
    let response = try await service.refresh(
      .with {
        $0.refreshToken = session.refreshToken
        $0.idempotencyKey = key
        if let userClient { $0.client = userClient }
      })
    try await take(response.session)
  }

  private func take(_ session: Latchkey_V1_Session) async throws {
    try await storage.save(session)
    self.session = session
    idempotencyKey = nil
    nextAttempt = .now
  }

  /// Time until the ID token expires.
  private var timeLeft: Duration {
    .seconds(Double(session.idTokenExpiresAt.seconds) - Date().timeIntervalSince1970)
  }

  // An actor can run other calls while one waits for the server.
  private func lock() async {
    guard isLocked else { return isLocked = true }
    await withCheckedContinuation { waiting.append($0) }
  }

  private func unlock() {
    guard !waiting.isEmpty else { return isLocked = false }
    waiting.removeFirst().resume()
  }
}

/// Minimum time between two refreshes while the server is unavailable.
private let pause = Duration.seconds(5)

extension LatchkeyError {
  /// Whether a repeat can succeed, and the user need not sign in.
  fileprivate var isTransient: Bool {
    [.unavailable, .deadlineExceeded, .resourceExhausted].contains(code)
  }

  /// Whether the user must sign in again.
  fileprivate var endsSession: Bool {
    [.tokenRevoked, .tokenExpired, .invalidRefreshToken, .userDisabled].contains(reason)
  }
}
