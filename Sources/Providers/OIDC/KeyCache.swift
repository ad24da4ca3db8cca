import Store
import Synchronization
import Tokens

/// The key set of one provider, and the metadata that named it: read when needed, kept as long as the provider allows,
/// read again with restraint.
///
/// Checking a token with a key that is here takes no suspension and one uncontended lock around a copied reference. A
/// set whose life is over is not used, whether or not a new one can be had: without keys every token fails (check 53).
///
/// A token whose key is missing may cause a reading. Nothing proves that the token is genuine, so readings are limited:
/// - A reading answers for every token that was issued before it. One such token a minute causes another, since a new
///   key can reach the provider's own caches late.
/// - A token that was issued after the last reading may be signed with a new key. `freshReadings` of them cause a
///   reading each, then one every `freshReadingMillis`; the others fail, and may be tried again.
///
/// An attacker can therefore cause at most ten readings in the first minute and seven in each later one, and a genuine
/// token with a new key is accepted within ten seconds: the attacker's own tokens cause the reading that finds the key.
final class KeyCache: Sendable {
  /// Between readings for tokens that were issued before the last one (check 53).
  static let missingKeyRefetchMillis: Int64 = 60_000
  /// Between readings for tokens that were issued after the last one, once `freshReadings` are used up.
  static let freshReadingMillis: Int64 = 10_000
  static let freshReadings: Int64 = 3
  /// How far the provider's clock may be behind ours.
  static let clockSkewSeconds: Int64 = 5
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
    /// Without keys, and for a token that was issued before they were read.
    let ifMissing: IfMissing
    /// For a token that was issued after the keys were read.
    let ifMissingFresh: IfMissing
    let readAt: Timestamp

    /// - Parameter issuedAt: what the token says, in seconds since 1970.
    func ifMissing(issuedAt: Int64) -> IfMissing {
      issuedAt > readAt.seconds - KeyCache.clockSkewSeconds ? ifMissingFresh : ifMissing
    }
  }

  /// What to do about a key that is not here, which one that is here under its name does not show.
  enum IfMissing {
    /// The provider may be asked, or is being asked already.
    case fetch
    /// It was asked a moment ago, in vain.
    case failed(KeySource.Failure)
    /// The last reading is very recent, and a new key may have come since.
    case wait
    /// The last reading is very recent, and the provider has no other keys.
    case refuse
  }

  private struct State {
    var keys: JWKSet?
    var metadata: ProviderMetadata?
    var goodUntil = Timestamp(millis: .min)
    var askedAt: Timestamp?
    /// When the keys that are here were asked for.
    var readAt = Timestamp(millis: 0)
    /// The last time that it was for a key which was not among those at hand.
    var refetchedAt: Timestamp?
    /// When all of `freshReadings` are free again.
    var freshFreeAt = Timestamp(millis: 0)
    /// Why the last attempt brought nothing.
    var failure: KeySource.Failure?
    /// The one fetch under way, which everybody who needs it waits for.
    var flight: Task<Void, Never>?

    /// What was noted by a clock that was ahead would stay true until that moment comes: keys that were withdrawn would
    /// stay good, and nobody might ask for new ones. Callers at once have moments that differ, by less than this.
    mutating func forgetWhatIsYetToCome(at now: Timestamp) {
      guard let askedAt, askedAt > now.adding(millis: KeyCache.missingKeyRefetchMillis) else { return }
      goodUntil = Timestamp(millis: .min)
      (self.askedAt, refetchedAt) = (nil, nil)
      freshFreeAt = Timestamp(millis: 0)
    }

    func mayRefetch(at now: Timestamp) -> Bool {
      refetchedAt.map { now >= $0.adding(millis: missingKeyRefetchMillis) } ?? true
    }

    func mayReadForFresh(at now: Timestamp) -> Bool {
      mayRefetch(at: now) || now >= freshFreeAt.adding(millis: -(freshReadings - 1) * freshReadingMillis)
    }

    /// Takes the allowance that `mayReadForFresh` found.
    mutating func takeReading(at now: Timestamp) {
      if mayRefetch(at: now) {
        refetchedAt = now
      } else {
        freshFreeAt = max(now, freshFreeAt).adding(millis: freshReadingMillis)
      }
    }
  }
  private let state = Mutex(State())
  let source: KeySource

  init(_ source: KeySource) { self.source = source }

  func view(at now: Timestamp) -> View { state.withLock { KeyCache.view(of: &$0, at: now) } }

  private static func view(of state: inout State, at now: Timestamp) -> View {
    state.forgetWhatIsYetToCome(at: now)
    let keys = now < state.goodUntil ? state.keys : nil
    func view(_ ifMissing: IfMissing, fresh: IfMissing) -> View {
      View(
        keys: keys, metadata: keys == nil ? nil : state.metadata, ifMissing: ifMissing, ifMissingFresh: fresh,
        readAt: state.readAt)
    }
    guard state.flight == nil, let askedAt = state.askedAt else { return view(.fetch, fresh: .fetch) }
    let failed = state.failure.map { IfMissing.failed($0) }
    guard keys != nil else {
      let isOver = state.failure == nil || now >= askedAt.adding(millis: failureRetryMillis)
      let outcome = isOver ? .fetch : failed ?? .refuse
      return view(outcome, fresh: outcome)
    }
    // Asked after the token came, the provider has named every key that can have signed it.
    guard askedAt < now else { return view(failed ?? .refuse, fresh: failed ?? .refuse) }
    return view(
      state.mayRefetch(at: now) ? .fetch : failed ?? .refuse,
      fresh: state.mayReadForFresh(at: now) ? .fetch : failed ?? .wait)
  }

  /// Returns when the fetch under way is over; starts one if there is none and asking is allowed.
  func refresh(at now: Timestamp) async {
    let flight: Task<Void, Never>? = state.withLock { state in
      let view = KeyCache.view(of: &state, at: now)
      guard state.flight == nil, case .fetch = view.ifMissingFresh else { return state.flight }
      state.askedAt = now
      if view.keys != nil { state.takeReading(at: now) }
      state.flight = Task { await self.fetch(askedAt: now) }
      return state.flight
    }
    await flight?.value
  }

  private func fetch(askedAt: Timestamp) async {
    do throws(KeySource.Failure) {
      let fetched = try await source.read()
      let range = KeyCache.lifeSecondsRange
      let seconds = min(max(fetched.maxAgeSeconds ?? KeyCache.lifeSecondsDefault, range.lowerBound), range.upperBound)
      state.withLock { state in
        state.keys = fetched.keys
        state.metadata = fetched.metadata
        // Counted from the question, so that a slow answer never lengthens a life. Also one that was forgotten since.
        (state.askedAt, state.readAt) = (askedAt, askedAt)
        state.goodUntil = askedAt.adding(millis: Int64(seconds) * 1000)
        state.failure = nil
        state.flight = nil
      }
    } catch {
      state.withLock { state in
        // A provider that is left alone for its failures is so for the fault that is known.
        if !error.isOfBreaker || state.failure?.fix == nil { state.failure = error }
        if error.withdrawsKeys { state.goodUntil = Timestamp(millis: .min) }
        state.flight = nil
      }
    }
  }
}
