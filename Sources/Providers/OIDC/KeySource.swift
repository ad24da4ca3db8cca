import Fetch
import Tokens

/// Reads a provider's metadata and key set over the network, with everything checked that makes them this provider's.
struct KeySource: Sendable {
  let providerID: String
  let keys: ProviderSettings.Keys
  /// What the metadata must name.
  let issuer: String
  let fetching: any HTTPSFetching

  struct Fetched: Sendable {
    let keys: JWKSet
    /// nil: the key set is fixed.
    let metadata: ProviderMetadata?
    let maxAgeSeconds: Int?
  }

  /// Which document was not to be had or not to be believed, and why; for the log.
  struct Failure: Error, CustomStringConvertible {
    let url: String
    let why: String

    var description: String { "\(url): \(why)" }
  }

  func read() async throws -> Fetched {
    var metadata: ProviderMetadata?
    let url: String
    switch keys {
    case .jwks(let fixed): url = fixed
    case .discovery(let discoveryURL):
      let read = try await self.metadata(discoveryURL)
      metadata = read
      url = read.keySetURL
    case .none: throw Failure(url: providerID, why: "has no keys")
    }
    let body = try await document(url)
    do throws(KeySetError) {
      return Fetched(keys: try JWKSet.parse(body.bytes), metadata: metadata, maxAgeSeconds: body.maxAgeSeconds)
    } catch {
      throw Failure(url: url, why: "the key set is refused: \(error)")
    }
  }

  private func metadata(_ url: String) async throws -> ProviderMetadata {
    let body = try await document(url)
    do throws(ProviderMetadata.Defect) {
      return try ProviderMetadata(body.bytes, issuer: issuer)
    } catch {
      throw Failure(url: url, why: error.why)
    }
  }

  private func document(_ url: String) async throws -> FetchedBody {
    let body: FetchedBody
    do { body = try await fetching.get(url, for: providerID) } catch { throw Failure(url: url, why: "\(error)") }
    guard body.status == 200 else { throw Failure(url: url, why: "answered with status \(body.status)") }
    return body
  }
}
