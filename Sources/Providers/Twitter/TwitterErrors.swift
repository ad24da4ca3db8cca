import HTTPClient
import Tokens

/// X's errors, which are objects with a number, in a list (X API, Error codes).
enum TwitterErrors {
  /// Our clock, our part of the signature, and our callback: never the user's fault.
  private static let ours: Set<Int64> = [135, 215, 415]
  /// The user's account is suspended or locked.
  private static let denied: Set<Int64> = [63, 64, 326]
  /// The user's token or verifier is invalid, with any status: 89 comes with 403 as well.
  private static let token: Set<Int64> = [32, 89]

  /// Returns why X rejected a request with a user's token or verifier.
  ///
  /// - Parameter otherwise: the meaning of the status by itself.
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

  /// Returns the number of the first error, which is the only one that X sends.
  private static func code(_ answer: FetchedBody) -> Int64? {
    let document = try? JSONValue.parse(answer.bytes, byteCountMax: ProviderCalls.documentBytesMax)
    return document?["errors"]?.array?.first?["code"]?.int
  }
}
