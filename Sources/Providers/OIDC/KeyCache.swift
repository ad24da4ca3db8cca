import Store
import Synchronization
import Tokens

/// The key set of one provider, and the metadata that named it: read when needed, kept as long as the provider allows,
/// asked for again with restraint.
///
/// Checking a token with a key that is here takes no suspension and one uncontended lock around a copied reference. A
/// set whose life is over is not used, whether or not a new one can be had: what cannot be had fails closed (check 53).
final class KeyCache: Sendable {
  /// A new key must be usable at once, and a caller who makes up key ids or signatures must not make us ask without
  /// end: this long after asking for a key that was not among those at hand, nobody asks for another (check 53).
  static let missingKeyRefetchMillis: Int64 = 60_000
  /// After a failed attempt the next caller is answered at once for this long, instead of waiting out the time limit.
  static let failureRetryMillis: Int64 = 5_000
  /// The keys may have to be loaded first, and one that is newer than those be asked for then.
  static let fetchesForOneToken = 2
  static let lifeSecondsDefault = 3600
  static let lifeSecondsRange = 300...86_400

  /// What a caller may do at one moment.
  struct View {
    /// Good now; nil where the last set's life is over or there never was one.
    let keys: JWKSet?
    /// Of the same age; nil also where the keys are fixed.
    let metadata: ProviderMetadata?
    let ifMissing: IfMissing
  }

  /// What to do about a key that is not here, which one that is here under its name does not show.
  enum IfMissing {
    /// The provider may be asked, or is being asked already.
    case fetch
    /// It was asked a moment ago, in vain.
    case unavailable(why: String)
    /// It was asked a moment ago, and has no other keys.
    case refuse
  }

  private struct State {
    var keys: JWKSet?
    var metadata: ProviderMetadata?
    var goodUntil = Timestamp(millis: .min)
    var askedAt: Timestamp?
    /// The last time that it was for a key which was not among those at hand.
    var refetchedAt: Timestamp?
    /// Why the last attempt brought nothing.
    var failure: String?
    /// The one fetch under way, which everybody who needs it waits for.
    var flight: Task<Void, Never>?

    /// What was noted by a clock that was ahead would stay true until that moment comes: keys that were withdrawn would
    /// stay good, and nobody might ask for new ones. Callers at once have moments that differ, by less than this.
    mutating func forgetWhatIsYetToCome(at now: Timestamp) {
      guard let askedAt, askedAt > now.adding(millis: KeyCache.missingKeyRefetchMillis) else { return }
      goodUntil = Timestamp(millis: .min)
      (self.askedAt, refetchedAt) = (nil, nil)
    }
  }
  private let state = Mutex(State())
  private let source: KeySource

  init(_ source: KeySource) { self.source = source }

  func view(at now: Timestamp) -> View { state.withLock { KeyCache.view(of: &$0, at: now) } }

  private static func view(of state: inout State, at now: Timestamp) -> View {
    state.forgetWhatIsYetToCome(at: now)
    let keys = now < state.goodUntil ? state.keys : nil
    let metadata = keys == nil ? nil : state.metadata
    if state.flight != nil || mayAsk(state, hasKeys: keys != nil, at: now) {
      return View(keys: keys, metadata: metadata, ifMissing: .fetch)
    }
    return View(keys: keys, metadata: metadata, ifMissing: state.failure.map { .unavailable(why: $0) } ?? .refuse)
  }

  private static func mayAsk(_ state: State, hasKeys: Bool, at now: Timestamp) -> Bool {
    guard let askedAt = state.askedAt else { return true }
    guard hasKeys else { return state.failure == nil || now >= askedAt.adding(millis: failureRetryMillis) }
    // Asked after the token came, the provider has named every key that can have signed it.
    guard askedAt < now else { return false }
    return state.refetchedAt.map { now >= $0.adding(millis: missingKeyRefetchMillis) } ?? true
  }

  /// Returns when the fetch under way is over; starts one if there is none and asking is allowed.
  func refresh(at now: Timestamp) async {
    let flight: Task<Void, Never>? = state.withLock { state in
      let view = KeyCache.view(of: &state, at: now)
      guard state.flight == nil, case .fetch = view.ifMissing else { return state.flight }
      state.askedAt = now
      if view.keys != nil { state.refetchedAt = now }
      state.flight = Task { await self.fetch(askedAt: now) }
      return state.flight
    }
    await flight?.value
  }

  private func fetch(askedAt: Timestamp) async {
    do {
      let fetched = try await source.read()
      let range = KeyCache.lifeSecondsRange
      let seconds = min(max(fetched.maxAgeSeconds ?? KeyCache.lifeSecondsDefault, range.lowerBound), range.upperBound)
      state.withLock { state in
        state.keys = fetched.keys
        state.metadata = fetched.metadata
        // Counted from the question, so that a slow answer never lengthens a life. Also one that was forgotten since.
        state.askedAt = askedAt
        state.goodUntil = askedAt.adding(millis: Int64(seconds) * 1000)
        state.failure = nil
        state.flight = nil
      }
    } catch {
      state.withLock { state in
        state.failure = "\(error)"
        state.flight = nil
      }
    }
  }
}
