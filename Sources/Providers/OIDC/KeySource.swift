import Fetch
import Tokens

/// Reads a provider's key set over the network, with everything checked that makes it this provider's.
struct KeySource: Sendable {
  let settings: ProviderSettings
  let fetching: any HTTPSFetching

  struct Fetched: Sendable {
    let keys: JWKSet
    let maxAgeSeconds: Int?
  }

  /// Which document was not to be had or not to be believed, and why; for the log.
  struct Failure: Error, CustomStringConvertible {
    let url: String
    let why: String

    var description: String { "\(url): \(why)" }
  }

  private static let discoveryBytesMax = 64 * 1024

  func read() async throws -> Fetched {
    let url = try await keySetURL()
    let body = try await document(url)
    do throws(KeySetError) {
      return Fetched(keys: try JWKSet.parse(body.bytes), maxAgeSeconds: body.maxAgeSeconds)
    } catch {
      throw Failure(url: url, why: "the key set is refused: \(error)")
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
      throw Failure(url: discoveryURL, why: "is no JSON document")
    }
    // Discovery 1.0, 4.3: exactly, or one provider could hand out keys in the name of another.
    guard let issuer = metadata["issuer"]?.string, let expected = settings.issuers.first,
      issuer.utf8.elementsEqual(expected.utf8)
    else { throw Failure(url: discoveryURL, why: "is of another issuer") }
    guard let url = metadata["jwks_uri"]?.string, url.hasPrefix("https://") else {
      throw Failure(url: discoveryURL, why: "names no https jwks_uri")
    }
    return url
  }

  private func document(_ url: String) async throws -> FetchedBody {
    let body: FetchedBody
    do { body = try await fetching.get(url) } catch { throw Failure(url: url, why: "\(error)") }
    guard body.status == 200 else { throw Failure(url: url, why: "answered with status \(body.status)") }
    return body
  }
}
