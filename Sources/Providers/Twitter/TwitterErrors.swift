import Fetch
import Tokens

/// X's errors are objects with a number, in a list (X API, Error codes).
enum TwitterErrors {
  /// Our clock, our part of the signature, and our callback: never the person's fault.
  private static let ours: Set<Int64> = [135, 215, 415]
  /// The person's account is suspended or locked.
  private static let denied: Set<Int64> = [63, 64, 326]
  /// The person's token or verifier, whatever the status: 89 comes with 403 as well.
  private static let token: Set<Int64> = [32, 89]

  /// Why a request that shows a person's token or verifier is refused.
  /// - Parameter otherwise: What the status means by itself.
  static func refusal(
    _ answer: FetchedBody, of endpoint: String, otherwise: (String) -> ProviderRefusal
  ) -> ProviderRefusal {
    let text = why(answer, of: endpoint)
    guard let number = code(answer) else { return otherwise(text) }
    if ours.contains(number) { return .refused(why: text) }
    if denied.contains(number) { return .denied(why: text) }
    return token.contains(number) ? .invalid(why: text) : otherwise(text)
  }

  static func why(_ answer: FetchedBody, of endpoint: String) -> String {
    "\(endpoint): status \(answer.status)" + (code(answer).map { ", X's error \($0)" } ?? "")
  }

  /// Of the first, which is the only one that X sends.
  private static func code(_ answer: FetchedBody) -> Int64? {
    let document = try? JSONValue.parse(answer.bytes, byteCountMax: ProviderCalls.documentBytesMax)
    return document?["errors"]?.array?.first?["code"]?.int
  }
}
