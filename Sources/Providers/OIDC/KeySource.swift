import HTTPClient
import Tokens

/// A reader of a provider's metadata and key set over the network. It checks everything that makes them this
/// provider's.
struct KeySource: Sendable {
  let providerID: String
  let keys: ProviderSettings.Keys
  /// The issuer that the metadata must name.
  let issuer: String
  let fetching: any HTTPSFetching
  /// Called with the skipped entries of a key set.
  let onSkippedKeys: @Sendable ([SkippedKey]) -> Void

  struct Fetched: Sendable {
    let keys: JWKSet
    /// nil if the key set is fixed.
    let metadata: ProviderMetadata?
    let maxAgeSeconds: Int?
  }

  /// The document that could not be read or was not accepted, and why; for the log.
  struct Failure: Error, CustomStringConvertible {
    let url: String
    let why: String
    /// What the operator can do; nil if the fault may pass by itself.
    var fix: String?
    /// The circuit breaker prevented the request, because the provider failed before.
    var isOfBreaker = false
    /// The provider publishes other keys than the cached ones, and none of them is usable.
    var withdrawsKeys = false

    var description: String { "\(url): \(why)" }

    var refusal: ProviderRefusal {
      fix.map { .misconfigured(why: description, fix: $0) } ?? .unavailable(why: description)
    }
  }

  func read() async throws(Failure) -> Fetched {
    switch keys {
    case .jwks(let url): return try await keySet(url, setting: "jwks_url", metadata: nil)
    case .discovery(let url):
      let metadata = try await metadata(url)
      return try await keySet(metadata.keySetURL, setting: "jwks_url", metadata: metadata)
    case .none: throw Failure(url: providerID, why: "has no keys")
    }
  }

  private func keySet(
    _ url: String, setting: String, metadata: ProviderMetadata?
  ) async throws(Failure) -> Fetched {
    let body = try await document(url, setting: setting)
    let keys: JWKSet
    do throws(KeySetError) { keys = try JWKSet.parse(body.bytes) } catch {
      throw Failure(url: url, why: "the key set is not valid: \(error)")
    }
    if !keys.skipped.isEmpty { onSkippedKeys(keys.skipped) }
    guard !keys.isEmpty else {
      let reasons = Set(keys.skipped.map(\.reason.rawValue)).sorted().joined(separator: ", ")
      throw Failure(
        url: url, why: "no key of the set can be used\(reasons.isEmpty ? "" : ": \(reasons)")",
        fix: "Have the provider publish a signing key of RSA with 2048 bits or more, P-256, P-384, P-521 or Ed25519.",
        withdrawsKeys: true)
    }
    return Fetched(keys: keys, metadata: metadata, maxAgeSeconds: body.maxAgeSeconds)
  }

  private func metadata(_ url: String) async throws(Failure) -> ProviderMetadata {
    let body = try await document(url, setting: "discovery_url")
    do throws(ProviderMetadata.Defect) {
      return try ProviderMetadata(body.bytes, issuer: issuer)
    } catch {
      throw Failure(url: url, why: error.why, fix: error.fix)
    }
  }

  /// - Parameter setting: the setting that contains the URL of the document.
  private func document(_ url: String, setting: String) async throws(Failure) -> FetchedBody {
    let body: FetchedBody
    do { body = try await fetching.get(url, for: providerID) } catch {
      let error = error as? FetchError
      throw Failure(
        url: url, why: error.map { "\($0)" } ?? "cannot be fetched", fix: error.flatMap { Fault.fix($0, setting) },
        isOfBreaker: error == .circuitOpen)
    }
    guard body.status == 200 else {
      throw Failure(url: url, why: "answered with status \(body.status)", fix: Fault.fix(status: body.status, setting))
    }
    return body
  }
}

/// The faults that need a change of the settings or of the provider, as opposed to those that pass.
enum Fault {
  /// Returns the fix for a fault; nil if the fault may pass.
  ///
  /// - Parameter setting: the setting that contains the URL.
  static func fix(_ error: FetchError, _ setting: String) -> String? {
    switch error {
    case .refusedURL: "Correct `\(setting)`."
    case .refusedAddress:
      "The IP address is private. Set `fetch.allow_private_addresses` if the provider is in your own network."
    case .redirected: "Set `\(setting)` to the target of the redirect."
    case .untrusted: "Set `fetch.ca_file` to the CA of the provider's certificate, or have the provider renew it."
    default: nil
    }
  }

  /// Returns the fix for a response. The statuses 408, 425 and 429 ask for another attempt, and a server error may
  /// pass.
  static func fix(status: Int, _ setting: String) -> String? {
    guard 400..<500 ~= status, ![408, 425, 429].contains(status) else { return nil }
    return "Set `\(setting)` to the URL of the provider's document."
  }

  /// Returns the fix for an endpoint, which answers 400 to 403 for other reasons.
  static func fix(endpointStatus status: Int, _ setting: String) -> String? {
    [404, 405, 410].contains(status) ? "Set `\(setting)` to the provider's endpoint." : nil
  }
}
