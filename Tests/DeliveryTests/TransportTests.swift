import Crypto
import HTTPClient
import Store
import Synchronization
import Testing

@testable import Delivery

@Suite struct TransportTests {
  private let message = DeliveryMessage(
    id: "018bcfe568000abc", channel: .textMessage, kind: "phone_code", recipient: "+4915112345678", locale: "de",
    values: ["code": "123456"], createdAt: Timestamp(millis: 0), expiresAt: Timestamp(millis: 600_000))

  /// Returns the same answer to every request and records the request.
  private final class Receiver: HTTPSFetching {
    let answer: Result<Int, FetchError>
    let requests = Mutex<[FetchRequest]>([])

    init(_ answer: Result<Int, FetchError>) { self.answer = answer }

    func fetch(_ request: FetchRequest) async throws -> FetchedBody {
      requests.withLock { $0.append(request) }
      return FetchedBody(status: try answer.get(), bytes: [])
    }
  }

  private func secret(_ message: String) -> Secret {
    Secret(copying: Array(String(repeating: message, count: 32).utf8))
  }

  @Test func `a message is posted with its id and a signature of its bytes`() async throws {
    let receiver = Receiver(.success(204))
    let transport = WebhookTransport(
      url: "https://hooks.example/latchkey", signature: WebhookSignature([secret("a"), secret("b")]),
      fetcher: receiver)
    #expect(await transport.send(message, Words(subject: "s", text: "t")) == .delivered)
    let request = try #require(receiver.requests.withLock { $0.first })
    let fields = Dictionary(uniqueKeysWithValues: request.fields.map { ($0.name, $0.value) })
    let body = try #require(request.body)
    #expect(
      String(decoding: body, as: UTF8.self)
        == #"{"channel":"text_message","id":"018bcfe568000abc","kind":"phone_code","locale":"de","subject":"s","#
        + #""text":"t","to":"+4915112345678","values":{"code":"123456"}}"#)
    #expect(fields["content-type"] == "application/json" && fields["latchkey-message-id"] == message.id)
    let parts = try #require(fields["latchkey-signature"]).split(separator: ",")
    let seconds = try #require(Int64(parts[0].dropFirst(2)))
    #expect(parts[0].hasPrefix("t=") && parts.count == 3)
    for (part, key) in zip(parts.dropFirst(), ["a", "b"]) {
      let code = hmacSHA256(key: secret(key), Array("\(seconds).".utf8) + body)
      #expect(part == "v1=" + code.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
    }
  }

  @Test func `the signature matches a known vector`() {
    let field = WebhookSignature([Secret(copying: Array("key".utf8))])
      .field(Array("The quick brown fox".utf8), atSeconds: 1_700_000_000)
    // Computed with Python's hmac.
    #expect(field == "t=1700000000,v1=94a2d29c55d07d9333ce48f2c48db8237d363908152c26bf57af92cd850f9901")
  }

  @Test func `the webhook's answer decides between delivered, retry and failed`() {
    for status in [200, 202, 204, 299] { #expect(WebhookTransport.verdict(status) == .delivered) }
    for status in [408, 429, 500, 503, 599, 199] {
      #expect(WebhookTransport.verdict(status) == .failed("webhook \(status)"))
    }
    for status in [400, 401, 404, 410, 422] {
      #expect(WebhookTransport.verdict(status) == .refused("webhook \(status)"))
    }
  }

  @Test func `a webhook that cannot be reached is tried again`() async {
    for error in [FetchError.timedOut, .untrusted("x"), .unreachable("x"), .redirected, .circuitOpen, .closed] {
      let transport = WebhookTransport(
        url: "https://h", signature: WebhookSignature([]), fetcher: Receiver(.failure(error)))
      guard case .failed = await transport.send(message, Words(subject: "s", text: "t")) else {
        Issue.record("\(error)")
        continue
      }
    }
  }

  @Test func `the relay's answer decides between delivered, retry and failed`() {
    #expect(SMTPTransport.verdict(250) == .delivered)
    for status in [421, 450, 451, 452] { #expect(SMTPTransport.verdict(status) == .failed("smtp \(status)")) }
    for status in [530, 534, 535, 538] { #expect(SMTPTransport.verdict(status) == .failed("smtp \(status)")) }
    for status in [500, 550, 552, 553, 554] { #expect(SMTPTransport.verdict(status) == .refused("smtp \(status)")) }
  }
}
