package import Crypto
internal import Encodings
package import HTTPClient
internal import Reactor

/// The signature by which a receiver verifies a message: `latchkey-signature: t=UNIX_SECONDS,v1=HEX[,v1=HEX]`. HEX is
/// the HMAC-SHA256 of `UNIX_SECONDS.BODY` with the shared secret. During a rotation of the secret there is one for
/// each.
package struct WebhookSignature: Sendable {
  private let keys: [HMACKey]

  /// - Parameter secrets: The shared secrets, the current one first.
  package init(_ secrets: [Secret]) { keys = secrets.map { HMACKey($0) } }

  package func field(_ body: [UInt8], atSeconds seconds: Int64) -> String {
    let signed = Array("\(seconds).".utf8) + body
    return keys.reduce("t=\(seconds)") { field, key in
      field + ",v1=" + String(decoding: Hexadecimal.encode(key.code(of: signed)), as: UTF8.self)
    }
  }
}

/// A transport that sends messages by HTTPS to a service of the operator. That service uses the operator's delivery
/// provider.
package struct WebhookTransport: MessageTransport {
  package let name = "webhook"
  private let url: String
  private let signature: WebhookSignature
  private let fetcher: any HTTPSFetching

  package init(url: String, signature: WebhookSignature, fetcher: any HTTPSFetching) {
    self.url = url
    self.signature = signature
    self.fetcher = fetcher
  }

  package func send(_ message: DeliveryMessage, _ words: Words) async -> Verdict {
    guard let body = Document(message, words).bytes else { return .refused("the message cannot be encoded") }
    let request = FetchRequest(
      url, for: "webhook",
      fields: [
        .init("content-type", "application/json"),
        // The same at each attempt, so that the receiver can detect a repetition.
        .init("latchkey-message-id", message.id),
        .init("latchkey-signature", signature.field(body, atSeconds: wallMillis() / 1_000)),
      ],
      body: body)
    do {
      return WebhookTransport.verdict(try await fetcher.fetch(request).status)
    } catch FetchError.requestTooLarge {
      return .refused("the message is too large")
    } catch {
      return .failed("webhook: \(error)")
    }
  }

  static func verdict(_ status: Int) -> Verdict {
    switch status {
    case 200..<300: .delivered
    case 408, 429: .failed("webhook \(status)")
    case 400..<500: .refused("webhook \(status)")
    default: .failed("webhook \(status)")
    }
  }
}
