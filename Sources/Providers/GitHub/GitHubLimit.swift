import HTTPClient
import Tokens

/// GitHub's rate limit. GitHub reports it with 403 as well as 429 (REST API, Rate limits). Only the message
/// distinguishes it from a rejection, which would be the token's fault.
enum GitHubLimit {
  static func check(_ answer: FetchedBody) throws(ProviderRefusal) {
    guard answer.status == 403 || answer.status == 429,
      let document = try? JSONValue.parse(answer.bytes, byteCountMax: ProviderCalls.documentBytesMax),
      let message = document["message"]?.string, message.lowercased().contains("rate limit")
    else { return }
    throw .unavailable(why: "GitHub's rate limit: status \(answer.status)")
  }
}
