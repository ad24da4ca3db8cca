package import Crypto
package import Fetch
internal import Reactor

/// The relay that takes our mail.
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

/// Mail by a relay.
package struct SMTPRoad: Road {
  package let name = "smtp"
  private let relay: RelaySettings
  private let fetcher: CurlFetcher

  package init(_ relay: RelaySettings, fetcher: CurlFetcher) {
    self.relay = relay
    self.fetcher = fetcher
  }

  package func send(_ letter: Letter, _ words: Words) async -> Verdict {
    let bytes = MailForm(sender: relay.sender).bytes(letter, words, nowMillis: wallMillis())
    let heloName = relay.heloName.isEmpty ? String(relay.sender.domain) : relay.heloName
    let mail = MailRequest(
      host: relay.host, port: relay.port, security: relay.security, heloName: heloName, user: relay.user,
      password: relay.password?.revealed ?? "", sender: relay.sender.address,
      recipient: MailForm.quoted(letter.recipient),
      bytes: bytes)
    do {
      return SMTPRoad.verdict(try await fetcher.send(mail))
    } catch FetchError.refusedField {
      return .refused("the address is none that a relay takes")
    } catch FetchError.requestTooLarge {
      return .refused("it is too large")
    } catch FetchError.rejected(let status) {
      return .failed("smtp \(status)")
    } catch {
      return .failed("smtp: \(error)")
    }
  }

  /// RFC 5321, 4.2.1: 4 is for now, 5 for ever. What is about our login (RFC 4954, 6) is the operator's to mend, and
  /// says nothing of the mail.
  static func verdict(_ status: Int) -> Verdict {
    switch status {
    case 200..<300: .delivered
    case 530...538: .failed("smtp \(status)")
    case 500..<600: .refused("smtp \(status)")
    default: .failed("smtp \(status)")
    }
  }
}
