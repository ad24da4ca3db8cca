package import Crypto
package import HTTPClient
internal import Reactor

/// The configuration of the mail relay.
package struct RelaySettings: Sendable {
  package var host: String
  package var port: UInt16
  package var security: MailRequest.Security
  /// Empty: the sender's domain.
  package var heloName = ""
  package var user = ""
  /// nil: no login.
  package var password: Secret?
  package var sender: Sender

  package init(host: String, port: UInt16, security: MailRequest.Security, sender: Sender) {
    self.host = host
    self.port = port
    self.security = security
    self.sender = sender
  }
}

/// A transport for mail through an SMTP relay.
package struct SMTPTransport: MessageTransport {
  package let name = "smtp"
  private let relay: RelaySettings
  private let fetcher: CurlFetcher

  package init(_ relay: RelaySettings, fetcher: CurlFetcher) {
    self.relay = relay
    self.fetcher = fetcher
  }

  package func send(_ message: DeliveryMessage, _ words: Words) async -> Verdict {
    let bytes = MailForm(sender: relay.sender).bytes(message, words, nowMillis: wallMillis())
    let heloName = relay.heloName.isEmpty ? String(relay.sender.domain) : relay.heloName
    let mail = MailRequest(
      host: relay.host, port: relay.port, security: relay.security, heloName: heloName, user: relay.user,
      password: relay.password?.revealed ?? "", sender: relay.sender.address,
      recipient: MailForm.quoted(message.recipient),
      bytes: bytes)
    do {
      return SMTPTransport.verdict(try await fetcher.send(mail))
    } catch FetchError.refusedField {
      return .refused("a relay does not accept this form of address")
    } catch FetchError.requestTooLarge {
      return .refused("the message is too large")
    } catch FetchError.rejected(let status) {
      return .failed("smtp \(status)")
    } catch {
      return .failed("smtp: \(error)")
    }
  }

  /// Converts a reply status: 4xx is temporary and 5xx permanent (RFC 5321, 4.2.1). The operator must fix errors about
  /// the login (RFC 4954, 6). They do not concern the mail.
  static func verdict(_ status: Int) -> Verdict {
    switch status {
    case 200..<300: .delivered
    case 530...538: .failed("smtp \(status)")
    case 500..<600: .refused("smtp \(status)")
    default: .failed("smtp \(status)")
    }
  }
}
