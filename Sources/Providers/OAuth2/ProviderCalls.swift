import Fetch
import Tokens

/// A JSON document of a provider, and the bytes that it was.
struct Document: Equatable, Sendable {
  var value: JSONValue
  var bytes: [UInt8]
}

/// What we ask of one provider's servers. Everything throws `ProviderRefusal`.
struct ProviderCalls: Sendable {
  static let documentBytesMax = 256 * 1024

  /// Members of profiles and checks that decide who a user is, or for whom a token is.
  static let decisive: Set<String> = [
    "sub", "id", "id_str", "email", "email_verified", "verified", "primary", "aud", "azp", "exp", "hd", "data", "user",
    "application", "app",
  ]

  let providerID: String
  let fetching: any HTTPSFetching

  /// What the provider says to the bearer of this token (RFC 6750, 2.1).
  func document(_ url: String, accessToken: String, _ names: ClaimNames = ClaimNames()) async throws -> Document {
    try ProviderCalls.document(try await answer(url, accessToken: accessToken), names)
  }

  /// The same, whatever it is.
  func answer(_ url: String, accessToken: String, fields: [FetchRequest.Field] = []) async throws -> FetchedBody {
    try ProviderCalls.requireToken(accessToken)
    let bearer = FetchRequest.Field("authorization", "Bearer " + accessToken)
    let accept = FetchRequest.Field("accept", "application/json")
    return try await fetch(FetchRequest(url, for: providerID, fields: [bearer, accept] + fields))
  }

  /// One that can be put into a request.
  static func requireToken(_ accessToken: String) throws(ProviderRefusal) {
    guard accessToken.utf8.count <= TokenAnswer.tokenBytesMax else {
      throw .refused(why: "the access token is too long for a header: \(accessToken.utf8.count) bytes")
    }
    guard TokenAnswer.isToken(accessToken) else { throw .invalid(why: "no access token") }
  }

  /// The answer to a question whose parameters, tokens among them, the owner wants in the address. Nothing that is
  /// printed of a request has its query, and no refusal names an address.
  func answer(_ url: String, to parameters: [Parameter]) async throws -> FetchedBody {
    let accept = FetchRequest.Field("accept", "application/json")
    return try await fetch(
      FetchRequest(URLEncoding.url(url, adding: parameters), for: providerID, fields: [accept]))
  }

  /// The answer to a form, whatever it is.
  func post(_ parameters: [Parameter], to url: String, fields: [FetchRequest.Field] = []) async throws -> FetchedBody {
    let type = FetchRequest.Field("content-type", "application/x-www-form-urlencoded")
    let accept = FetchRequest.Field("accept", "application/json")
    return try await fetch(
      FetchRequest(url, for: providerID, fields: [type, accept] + fields, body: URLEncoding.form(parameters)))
  }

  /// Whatever keeps an answer away, the credential may be good.
  func fetch(_ request: FetchRequest) async throws -> FetchedBody {
    do {
      return try await fetching.fetch(request)
    } catch {
      throw ProviderRefusal.unavailable(why: "\(error)")
    }
  }

  /// 401 and 403 are about the token, everything else but 200 is about the provider.
  ///
  /// A member that occurs twice with different values counts as absent. Where it says who the user is, the document is
  /// rejected.
  ///
  /// - Parameter names: where the configuration has what decides.
  static func document(_ answer: FetchedBody, _ names: ClaimNames = ClaimNames()) throws(ProviderRefusal) -> Document {
    guard answer.status != 401, answer.status != 403 else {
      throw .invalid(why: "the provider does not take its access token: status \(answer.status)")
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
      guard case .duplicateName(let name) = error else { throw .unavailable(why: "the provider answers with no JSON") }
      throw .invalid(why: "the profile has two values of \(name)")
    }
  }
}
