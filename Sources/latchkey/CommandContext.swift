import Client
import Reactor
import API

/// What a command works with: the service, and the stored profile.
struct CommandContext {
  let common: CommonOptions
  private let caller: Caller
  private let file: SessionFile

  init(_ common: CommonOptions) throws { self.init(common, try common.caller()) }

  private init(_ common: CommonOptions, _ caller: Caller) {
    self.common = common
    self.caller = caller
    file = SessionFile(common.sessionPath)
  }

  var sessionPath: String { common.sessionPath }

  /// Returns the same context for another profile.
  func ofProfile(_ name: String) -> CommandContext {
    var common = common
    common.profile = name
    // Keep the caller. Its API key may come from standard input, which can be read only once.
    return CommandContext(common, caller)
  }

  /// Returns the command line `latchkey NAME …` with the current common options.
  func proposal(_ words: String...) -> String { proposal(words) }

  func proposal(_ words: [String]) -> String { commandLine(["latchkey"] + words + common.repeated) }

  // MARK: The service

  func call<Request, Response>(_ rpc: RPC<Request, Response>, _ request: Request) throws -> Response {
    do throws(CallStatus) {
      return try caller.call(rpc, request)
    } catch {
      throw Ending.refused(error, self)
    }
  }

  /// Makes consecutive calls; see `Caller.calls`.
  func calls<Request, Response>(
    _ rpc: RPC<Request, Response>, _ next: @escaping (Response?) throws -> Request?
  ) throws {
    do {
      try caller.calls(rpc, next)
    } catch let status as CallStatus {
      throw Ending.refused(status, self)
    }
  }

  /// Makes a call with a response stream; see `Caller.stream`. If `each` throws, cancels the call.
  func stream<Request, Response>(
    _ rpc: RPC<Request, Response>, _ request: Request, _ each: @escaping (Response) throws -> Bool
  ) throws {
    var failure: (any Error)?
    do throws(CallStatus) {
      try caller.stream(rpc, request) { answer in
        do {
          return try each(answer)
        } catch {
          failure = error
          return false
        }
      }
    } catch {
      throw Ending.refused(error, self)
    }
    if let failure { throw failure }
  }

  func health(_ service: String) throws -> HealthCheckResponse.ServingStatus {
    do throws(CallStatus) {
      // A newer protocol may have a status that this version does not know.
      return try caller.call(HealthRPC.check, HealthCheckRequest(service: service)).status ?? .unknown
    } catch {
      throw Ending.refused(error, self)
    }
  }

  // MARK: The stored profile

  /// Reads the profile. Fails for a profile of another server, so that its tokens do not reach this server.
  func profile() throws -> Profile {
    guard let known = try file.profile(common.profileName) else { return Profile(server: common.address) }
    guard known.server == common.address else {
      throw Ending.usage(
        "--profile", "\(common.profileName) belongs to the server \(known.server), not to \(common.address)")
    }
    return known
  }

  func keep(_ profile: Profile?) throws { try file.keep(profile, as: common.profileName) }

  /// Runs `body` under the file lock; see `SessionFile.exclusively`.
  ///
  /// Use this to present the refresh token, because a concurrent command may use it too, and to end a session before
  /// `keep(nil)`, which could otherwise delete the session that a concurrent command has stored.
  func exclusively<Value>(_ body: () throws -> Value) throws -> Value { try file.exclusively(body) }

  /// Returns the stored session.
  func signedIn() throws -> Profile.SignedIn {
    guard let session = try profile().signedIn else { throw Ending.nobody(self) }
    return session
  }

  /// Returns the session, and refreshes its ID token if that is about to expire.
  func session() throws -> Profile.SignedIn {
    let session = try signedIn()
    guard session.isStale else { return session }
    return try exclusively {
      // Another command may have refreshed the session while this one waited for the lock.
      let session = try signedIn()
      return session.isStale ? try refreshed().stored : session
    }
  }

  func refreshed() throws -> (stored: Profile.SignedIn, session: Session) {
    // Check this before locking, so that a missing session creates no lock file.
    _ = try signedIn()
    return try exclusively {
      let answer = try call(
        SessionRPC.refresh, RefreshRequest(refreshToken: try signedIn().refreshToken))
      let stored = try remember(answer.session)
      guard let session = answer.session else { throw Ending.unknownAnswer }
      return (stored, session)
    }
  }

  /// Stores the session.
  ///
  /// - Parameter completed: the call has consumed the pending credential.
  @discardableResult
  func remember(_ session: Session?, completed: Bool = false) throws -> Profile.SignedIn {
    guard let signedIn = Profile.SignedIn(session) else { throw Ending.unknownAnswer }
    try change { profile in
      profile.signedIn = signedIn
      if completed { profile.pending = nil }
    }
    return signedIn
  }

  func remember<Value>(_ place: WritableKeyPath<Profile, Value?>, _ value: Value?) throws {
    try change { $0[keyPath: place] = value }
  }

  /// Returns the binding of this profile. Stores it first, because pending credentials are bound to it.
  func binding() throws -> String { try change { _ in }.binding }

  @discardableResult
  private func change(_ body: (inout Profile) -> Void) throws -> Profile {
    try exclusively {
      var profile = try profile()
      body(&profile)
      try keep(profile)
      return profile
    }
  }
}

extension Profile.SignedIn {
  /// Whether the ID token has expired, or may expire before it reaches the service.
  fileprivate var isStale: Bool {
    let marginMillis = 30_000 as Int64
    return idTokenExpiresAtMillis - marginMillis <= wallMillis()
  }
}
