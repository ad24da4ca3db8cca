import Fetch
import Tokens

/// A JSON document of a provider, and the bytes that it was.
struct Document: Equatable, Sendable {
  var value: JSONValue
  var bytes: [UInt8]
}

/// What we ask of one provider's servers. Everything throws `ProviderRefusal`.
struct ProviderCalls: Sendable {
  static let documentBytesMax = 64 * 1024

  let providerID: String
  let fetching: any HTTPSFetching

  /// What the provider says to the bearer of this token (RFC 6750, 2.1).
  func document(_ url: String, accessToken: String, fields: [FetchRequest.Field] = []) async throws -> Document {
    try ProviderCalls.document(try await answer(url, accessToken: accessToken, fields: fields))
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
  static func document(_ answer: FetchedBody) throws(ProviderRefusal) -> Document {
    guard answer.status != 401, answer.status != 403 else {
      throw .invalid(why: "the provider does not take its access token: status \(answer.status)")
    }
    guard answer.status == 200, let value = try? JSONValue.parse(answer.bytes, byteCountMax: documentBytesMax) else {
      throw .unavailable(why: "the provider answers with status \(answer.status), or with no JSON")
    }
    return Document(value: value, bytes: answer.bytes)
  }
}
