import Store
import Synchronization
import Tokens

/// A cache of one provider's key set, and of the metadata that names it. It reads them when needed, and keeps them as
/// long as the provider allows. It limits how often it reads them again.
///
/// Checking a token with a cached key does not suspend. It takes one uncontended lock around a copied reference. An
/// expired set is not used, even if there is no new one: without keys every token fails (check 53).
///
/// A token whose key is missing may cause a read. Nothing proves that the token is genuine, so reads are limited:
/// - A read answers for every token that was issued before it. One such token per minute causes another, since a new
///   key can reach the provider's own caches late.
/// - A token that was issued after the last read may be signed with a new key. `freshReadings` such tokens cause a read
///   each, then one every `freshReadingMillis`. The others fail, and the caller may try again.
///
/// An attacker can therefore cause at most ten reads in the first minute and seven in each later one. A genuine token
/// with a new key is accepted within ten seconds: the attacker's own tokens cause the read that finds the key.
final class KeyCache: Sendable {
  /// Minimum interval between reads for tokens that were issued before the last one (check 53).
  static let missingKeyRefetchMillis: Int64 = 60_000
  /// Minimum interval between reads for tokens that were issued after the last one, once `freshReadings` are used up.
  static let freshReadingMillis: Int64 = 10_000
  static let freshReadings: Int64 = 3
  /// Maximum delay of the provider's clock against ours.
  static let clockSkewSeconds: Int64 = 5
  /// For this long after a failed attempt, callers receive its failure immediately instead of waiting for the timeout.
  static let failureRetryMillis: Int64 = 5_000
  /// The first fetch may load the keys, and the second one a newer key.
  static let fetchesForOneToken = 2
  static let lifeSecondsDefault = 3600
  static let lifeSecondsRange = 300...86_400

  /// What a caller may do at one point in time.
  struct View {
    /// Valid now; nil if the last set has expired or there never was one.
    let keys: JWKSet?
    /// As old as the keys; nil also if the key set is fixed.
    let metadata: ProviderMetadata?
    /// Applies without keys, and to a token that was issued before they were read.
    let ifMissing: IfMissing
    /// Applies to a token that was issued after the keys were read.
    let ifMissingFresh: IfMissing
    let readAt: Timestamp

    /// - Parameter issuedAt: the token's claim, in seconds since 1970.
    func ifMissing(issuedAt: Int64) -> IfMissing {
      issuedAt > readAt.seconds - KeyCache.clockSkewSeconds ? ifMissingFresh : ifMissing
    }
  }

  /// What to do if a key is missing. It can be missing even if a cached key has its name.
  enum IfMissing {
    /// The caller may ask the provider, or a request is in progress.
    case fetch
    /// A recent request failed.
    case failed(KeySource.Failure)
    /// The last read is very recent, but a new key may have come since.
    case wait
    /// The last read is very recent, and the provider has no other keys.
    case refuse
  }

  private struct State {
    var keys: JWKSet?
    var metadata: ProviderMetadata?
    var goodUntil = Timestamp(millis: .min)
    var askedAt: Timestamp?
    /// When the cached keys were requested.
    var readAt = Timestamp(millis: 0)
    /// When the last read for a missing key was requested.
    var refetchedAt: Timestamp?
    /// When all of `freshReadings` are available again.
    var freshFreeAt = Timestamp(millis: 0)
    /// Why the last attempt failed.
    var failure: KeySource.Failure?
    /// The one fetch in progress, for which every caller that needs it waits.
    var flight: Task<Void, Never>?

    /// Discards times from a clock that ran ahead. Until they come, withdrawn keys would stay valid and no caller could
    /// request new ones. The tolerance covers the different times of concurrent callers.
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

    /// Uses the allowance that `mayReadForFresh` found.
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
    // The provider was asked after the token arrived, so it has named every key that can have signed the token.
    guard askedAt < now else { return view(failed ?? .refuse, fresh: failed ?? .refuse) }
    return view(
      state.mayRefetch(at: now) ? .fetch : failed ?? .refuse,
      fresh: state.mayReadForFresh(at: now) ? .fetch : failed ?? .wait)
  }

  /// Returns when the fetch in progress is complete. Starts one if there is none and a request is allowed.
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
        // The lifetime starts with the request, so that a slow response never extends it. This also restores a time
        // that was discarded since then.
        (state.askedAt, state.readAt) = (askedAt, askedAt)
        state.goodUntil = askedAt.adding(millis: Int64(seconds) * 1000)
        state.failure = nil
        state.flight = nil
      }
    } catch {
      state.withLock { state in
        // An open circuit breaker does not replace a known failure that the operator can fix.
        if !error.isOfBreaker || state.failure?.fix == nil { state.failure = error }
        if error.withdrawsKeys { state.goodUntil = Timestamp(millis: .min) }
        state.flight = nil
      }
    }
  }
}
