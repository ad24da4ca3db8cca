import HTTPClient
import Tokens

/// A JSON document of a provider, with its original bytes.
struct Document: Equatable, Sendable {
  var value: JSONValue
  var bytes: [UInt8]
}

/// Requests to one provider's servers. Everything throws `ProviderRefusal`.
struct ProviderCalls: Sendable {
  static let documentBytesMax = 256 * 1024

  /// Members of profiles and checks that determine who a user is, or for whom a token is.
  static let decisive: Set<String> = [
    "sub", "id", "id_str", "email", "email_verified", "verified", "primary", "aud", "azp", "exp", "hd", "data", "user",
    "application", "app",
  ]

  let providerID: String
  let fetching: any HTTPSFetching

  /// Reads a document as the bearer of this token (RFC 6750, 2.1).
  func document(_ url: String, accessToken: String, _ names: ClaimNames = ClaimNames()) async throws -> Document {
    try ProviderCalls.document(try await answer(url, accessToken: accessToken), names)
  }

  /// Sends the same request and returns the response with any status.
  func answer(_ url: String, accessToken: String, fields: [FetchRequest.Field] = []) async throws -> FetchedBody {
    try ProviderCalls.requireToken(accessToken)
    let bearer = FetchRequest.Field("authorization", "Bearer " + accessToken)
    let accept = FetchRequest.Field("accept", "application/json")
    return try await fetch(FetchRequest(url, for: providerID, fields: [bearer, accept] + fields))
  }

  /// Checks that a request can contain the token.
  static func requireToken(_ accessToken: String) throws(ProviderRefusal) {
    guard accessToken.utf8.count <= TokenAnswer.tokenBytesMax else {
      throw .refused(why: "the access token is too long for a header: \(accessToken.utf8.count) bytes")
    }
    guard TokenAnswer.isToken(accessToken) else { throw .invalid(why: "no access token") }
  }

  /// Sends a request whose parameters, tokens among them, must be in the URL. The description of a request omits its
  /// query, and no refusal contains a URL.
  func answer(
    _ url: String, to parameters: [Parameter], by method: FetchRequest.Method = .get
  ) async throws -> FetchedBody {
    let accept = FetchRequest.Field("accept", "application/json")
    return try await fetch(
      FetchRequest(URLEncoding.url(url, adding: parameters), for: providerID, fields: [accept], method: method))
  }

  /// Sends a form and returns the response with any status.
  func post(_ parameters: [Parameter], to url: String, fields: [FetchRequest.Field] = []) async throws -> FetchedBody {
    let type = FetchRequest.Field("content-type", "application/x-www-form-urlencoded")
    let accept = FetchRequest.Field("accept", "application/json")
    return try await fetch(
      FetchRequest(url, for: providerID, fields: [type, accept] + fields, body: URLEncoding.form(parameters)))
  }

  /// Throws `unavailable` if there is no response: the credential may be valid.
  func fetch(_ request: FetchRequest) async throws -> FetchedBody {
    do {
      return try await fetching.fetch(request)
    } catch {
      throw ProviderRefusal.unavailable(why: "\(error)")
    }
  }

  /// Reads the document of a response. 401 and 403 concern the token, every other status but 200 concerns the provider.
  ///
  /// A member that occurs twice with different values counts as absent. If it determines who the user is, the document
  /// is rejected.
  ///
  /// - Parameter names: the configured names of the members that determine this.
  static func document(_ answer: FetchedBody, _ names: ClaimNames = ClaimNames()) throws(ProviderRefusal) -> Document {
    guard answer.status != 401, answer.status != 403 else {
      throw .invalid(why: "the provider does not accept its access token: status \(answer.status)")
    }
    if let fix = Fault.fix(endpointStatus: answer.status, "profile_url") {
      throw .misconfigured(why: "the provider's endpoint answers with status \(answer.status)", fix: fix)
    }
    guard answer.status == 200 else { throw .unavailable(why: "the provider answers with status \(answer.status)") }
    do throws(JSONError) {
      let value = try JSONValue.parseLeniently(
        answer.bytes, byteCountMax: documentBytesMax,
        decisive: decisive.union([names.subject, names.email, names.emailVerified]))
      return Document(value: value, bytes: answer.bytes)
    } catch {
      guard case .duplicateName(let name) = error else { throw .unavailable(why: "the provider does not send JSON") }
      throw .invalid(why: "the profile has two values of \(name)")
    }
  }
}
