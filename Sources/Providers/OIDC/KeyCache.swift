import Fetch
import Store
import Synchronization
import Tokens

/// The key set of one provider: read when needed, kept as long as the provider allows, asked for again with restraint.
///
/// Checking a token with a key that is here takes no suspension and one uncontended lock around a copied reference. A
/// set whose life is over is not used, whether or not a new one can be had: what cannot be had fails closed (check 53).
final class KeyCache: Sendable {
  /// A new key must be usable soon, and a caller who makes up key ids must not make us ask without end.
  static let unknownKeyRefetchMillis: Int64 = 60_000
  /// After a failed attempt the next caller is answered at once for this long, instead of waiting out the time limit.
  static let failureRetryMillis: Int64 = 5_000
  static let lifeSecondsDefault = 3600
  static let lifeSecondsRange = 300...86_400

  /// What a caller may do at one moment.
  struct View {
    /// Good now; nil where the last set's life is over or there never was one.
    let keys: JWKSet?
    let ifMissing: IfMissing
  }

  /// What to do about a key that is not here.
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
    var goodUntil = Timestamp(millis: .min)
    var askedAt: Timestamp?
    /// Why the last attempt brought nothing.
    var failure: String?
    /// The one fetch under way, which everybody who needs it waits for.
    var flight: Task<Void, Never>?
  }
  private let state = Mutex(State())
  private let source: KeySource

  init(_ source: KeySource) { self.source = source }

  func view(at now: Timestamp) -> View { state.withLock { KeyCache.view(of: $0, at: now) } }

  private static func view(of state: State, at now: Timestamp) -> View {
    let keys = now < state.goodUntil ? state.keys : nil
    let pauseMillis = keys != nil ? unknownKeyRefetchMillis : state.failure != nil ? failureRetryMillis : 0
    let pauseIsOver = state.askedAt.map { now >= $0.adding(millis: pauseMillis) } ?? true
    if state.flight != nil || pauseIsOver { return View(keys: keys, ifMissing: .fetch) }
    return View(keys: keys, ifMissing: state.failure.map { .unavailable(why: $0) } ?? .refuse)
  }

  /// Returns when the fetch under way is over; starts one if there is none and asking is allowed.
  func refresh(at now: Timestamp) async {
    let flight: Task<Void, Never>? = state.withLock { state in
      guard state.flight == nil, case .fetch = KeyCache.view(of: state, at: now).ifMissing else { return state.flight }
      state.askedAt = now
      state.flight = Task { await self.fetch(askedAt: now) }
      return state.flight
    }
    await flight?.value
  }

  private func fetch(askedAt: Timestamp) async {
    let result = await source.read()
    state.withLock { state in
      state.flight = nil
      switch result {
      case .success(let fetched):
        let range = KeyCache.lifeSecondsRange
        let seconds = min(max(fetched.maxAgeSeconds ?? KeyCache.lifeSecondsDefault, range.lowerBound), range.upperBound)
        state.keys = fetched.keys
        // Counted from the question, so that a slow answer never lengthens a life.
        state.goodUntil = askedAt.adding(millis: Int64(seconds) * 1000)
        state.failure = nil
      case .failure(let refusal):
        state.failure = refusal.why
      }
    }
  }
}

/// Reads a provider's key set over the network, with everything checked that makes it this provider's.
struct KeySource: Sendable {
  let settings: ProviderSettings
  let fetching: any HTTPSFetching

  struct Fetched: Sendable {
    let keys: JWKSet
    let maxAgeSeconds: Int?
  }

  struct Failure: Error {
    let why: String
  }

  private static let discoveryBytesMax = 64 * 1024

  func read() async -> Result<Fetched, Failure> {
    do {
      let body = try await document(try await keySetURL())
      do {
        return .success(Fetched(keys: try JWKSet.parse(body.bytes), maxAgeSeconds: body.maxAgeSeconds))
      } catch {
        throw Failure(why: "the key set is refused: \(error)")
      }
    } catch let failure as Failure {
      return .failure(failure)
    } catch {
      return .failure(Failure(why: "\(error)"))
    }
  }

  private func keySetURL() async throws -> String {
    let discoveryURL: String
    switch settings.keys {
    case .jwks(let url): return url
    case .discovery(let url): discoveryURL = url
    }
    let body = try await document(discoveryURL)
    guard let metadata = try? JSONValue.parse(body.bytes, byteCountMax: KeySource.discoveryBytesMax) else {
      throw Failure(why: "the discovery document is no JSON object")
    }
    // Discovery 1.0, 4.3: exactly, or one provider could hand out keys in the name of another.
    guard let issuer = metadata["issuer"]?.string, let expected = settings.issuers.first,
      issuer.utf8.elementsEqual(expected.utf8)
    else { throw Failure(why: "the discovery document is of another issuer") }
    guard let url = metadata["jwks_uri"]?.string, url.hasPrefix("https://") else {
      throw Failure(why: "the discovery document names no https jwks_uri")
    }
    return url
  }

  private func document(_ url: String) async throws -> FetchedBody {
    do {
      let body = try await fetching.get(url)
      guard body.status == 200 else { throw Failure(why: "\(url) answered \(body.status)") }
      return body
    } catch let error as FetchError {
      throw Failure(why: "\(url): \(error)")
    }
  }
}
