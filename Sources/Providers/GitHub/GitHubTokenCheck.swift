import Crypto
import Encodings
import HTTPClient
import Tokens

/// The calls about tokens of our application: whether GitHub issued one to it, and the end of a user's consent. GitHub
/// answers only this application, and only about its tokens.
struct GitHubTokenCheck: Sendable {
  static let scopesMax = TokenAnswer.scopesMax

  let clientID: String
  let secret: Secret
  /// Contains `{client_id}` in place of our client id.
  let url: String
  let calls: ProviderCalls

  struct Checked: Hashable, Sendable {
    /// nil if GitHub names no user.
    var subject: String?
    var scopes: [String]
  }

  func check(_ accessToken: String) async throws -> Checked {
    guard TokenAnswer.isToken(accessToken) else { throw ProviderRefusal.invalid(why: "no access token") }
    let answer = try await ask(.post, url, about: accessToken)
    switch answer.status {
    // 422: the text does not look like a token.
    case 404, 422: throw ProviderRefusal.invalid(why: "GitHub did not issue the token to us")
    default: return try read(try ProviderCalls.document(answer).value)
    }
  }

  /// Ends the user's consent to our application, and with it all of their tokens. GitHub does not know a token that is
  /// invalid already.
  func revokeGrant(of accessToken: String, at url: String) async throws {
    let answer = try await ask(.delete, url, about: accessToken)
    switch answer.status {
    case 204, 404, 422: return
    default: throw ProviderRefusal.unavailable(why: "the end of a grant: status \(answer.status)")
    }
  }

  private func ask(
    _ method: FetchRequest.Method, _ url: String, about accessToken: String
  ) async throws -> FetchedBody {
    var body = JSONWriter()
    body.open(.object)
    body.member("access_token", accessToken)
    body.close(.object)
    let answer = try await calls.fetch(
      FetchRequest(
        url.replacing("{client_id}", with: URLEncoding.percentEncoded(clientID)), for: calls.providerID,
        fields: [
          .init("authorization", credentials), .init("content-type", "application/json"),
          .init("accept", "application/json"),
        ], body: body.bytes, method: method))
    try GitHubLimit.check(answer)
    guard ![401, 403].contains(answer.status) else {
      throw ProviderRefusal.refused(why: "GitHub does not accept our credentials: status \(answer.status)")
    }
    return answer
  }

  /// RFC 7617, 2: unencoded, unlike the form-encoded credentials at a token endpoint.
  private var credentials: String { "Basic " + Base64.padded(Array("\(clientID):\(secret.revealed)".utf8)) }

  func read(_ document: JSONValue) throws(ProviderRefusal) -> Checked {
    guard let issuedTo = document["app"]?["client_id"]?.string, issuedTo.utf8.elementsEqual(clientID.utf8) else {
      throw .invalid(why: "GitHub issued the token to another application")
    }
    let scopes = document["scopes"]?.strings ?? []
    guard scopes.count <= GitHubTokenCheck.scopesMax else { throw .unavailable(why: "GitHub grants too many scopes") }
    return Checked(subject: document["user"]?["id"]?.int.map { String($0) }, scopes: scopes)
  }
}
