import Client
import Reactor
import API

/// Where a command works: the service, and what this profile remembers.
struct Desk {
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

  /// The same place under another profile.
  func ofProfile(_ name: String) -> Desk {
    var common = common
    common.profile = name
    // The same caller: its key may have come from standard input, which is read once.
    return Desk(common, caller)
  }

  /// `latchkey NAME …` with the options that were given here.
  func proposal(_ words: String...) -> String { commandLine(["latchkey"] + words + common.repeated) }

  // MARK: The service

  func call<Request, Response>(_ rpc: RPC<Request, Response>, _ request: Request) throws -> Response {
    do throws(CallStatus) {
      return try caller.call(rpc, request)
    } catch {
      throw Ending.refused(error, self)
    }
  }

  /// Calls that follow each other: see `Caller.calls`.
  func calls<Request, Response>(
    _ rpc: RPC<Request, Response>, _ next: @escaping (Response?) throws -> Request?
  ) throws {
    do {
      try caller.calls(rpc, next)
    } catch let status as CallStatus {
      throw Ending.refused(status, self)
    }
  }

  /// A call whose answer is a stream; see `Caller.stream`. Where `each` throws, the call is cancelled.
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
      // A status of a newer protocol says nothing that this version knows.
      return try caller.call(HealthRPC.check, HealthCheckRequest(service: service)).status ?? .unknown
    } catch {
      throw Ending.refused(error, self)
    }
  }

  // MARK: What is remembered

  /// A profile of another server is that server's: its tokens are not shown to this one.
  func profile() throws -> Profile {
    guard let known = try file.profile(common.profileName) else { return Profile(server: common.address) }
    guard known.server == common.address else {
      throw Ending.usage(
        "--profile", "\(common.profileName) is of the server \(known.server), not of \(common.address): take another")
    }
    return known
  }

  func keep(_ profile: Profile?) throws { try file.keep(profile, as: common.profileName) }

  /// See `SessionFile.exclusively`: for what presents the refresh token, which a command beside this one may spend.
  func exclusively<Value>(_ body: () throws -> Value) throws -> Value { try file.exclusively(body) }

  /// The session as it is remembered.
  func signedIn() throws -> Profile.SignedIn {
    guard let session = try profile().signedIn else { throw Ending.nobody(self) }
    return session
  }

  /// The session, with an ID token that is good for some time yet.
  func session() throws -> Profile.SignedIn {
    let session = try signedIn()
    guard session.isStale else { return session }
    return try exclusively {
      // Whoever had the file before may have refreshed it.
      let session = try signedIn()
      return session.isStale ? try refreshed() : session
    }
  }

  func refreshed() throws -> Profile.SignedIn {
    // Before the lock, which is a file: where nobody is signed in there is nothing to be kept in turn.
    _ = try signedIn()
    return try exclusively {
      let answer = try call(
        SessionRPC.refresh, RefreshRequest(refreshToken: try signedIn().refreshToken))
      return try remember(answer.session)
    }
  }

  /// - Parameter completed: what was held is linked, or was the credential itself.
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

  /// The name of this profile towards the service; it is kept, because what is held is bound to it.
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
  /// The ID token has expired, or would on its way.
  fileprivate var isStale: Bool {
    let marginMillis = 30_000 as Int64
    return idTokenExpiresAtMillis - marginMillis <= wallMillis()
  }
}
