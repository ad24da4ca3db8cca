internal import Crypto
package import Delivery
internal import HTTPClient
internal import FoundationEssentials
internal import Identity
internal import Providers
internal import Reactor
internal import Store

/// Transport for mail.
enum MailTransport: String, CaseIterable, Sendable {
  case off
  case outbox
  case smtp
  case webhook
}

/// Transport for text messages.
enum TextTransport: String, CaseIterable, Sendable {
  case off
  case outbox
  case webhook
}

/// Transports and templates of messages.
package struct DeliverySettings: Sendable {
  /// Maximum number of threads for mail; each SMTP attempt occupies one.
  static let mailThreadsMax = 64

  var mail = MailTransport.off
  var textMessages = TextTransport.off
  var outboxFolder = ""
  /// Folder of templates; empty for only the built-in ones.
  var templateFolder = ""
  var defaultLanguage = ""
  package var schedule = Schedule()
  /// CA file; empty for the system's CAs.
  var authorityFile = ""
  var allowsPrivateAddresses = false
  var relay = RelaySettings(host: "", port: 587, security: .startTLS, sender: Sender(address: ""))
  var relayPassword: SecretSource?
  var webhookURL = ""
  /// Secrets for signatures, the current one first.
  var webhookSecrets: [SecretSource] = []

  package var transportNames: [String] { Set([mail.rawValue, textMessages.rawValue]).sorted() }

  func uses(_ transport: MailTransport) -> Bool { mail == transport || textMessages.rawValue == transport.rawValue }
}

extension Settings {
  mutating func readDelivery(
    _ reader: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) {
    try reader.group("delivery") { group throws(ConfigurationError) in
      delivery.mail = try group.choice(
        "mail", MailTransport.off, "transport for mail; off disables features that need mail")
      delivery.textMessages = try group.choice("text_messages", TextTransport.off, "transport for text messages")
      delivery.outboxFolder = path(
        try group.text("outbox_folder", "outbox", "folder of the outbox, which contains codes in plain text"))
      delivery.templateFolder = path(
        try group.text("template_folder", "", "folder with LANGUAGE/KIND.txt and .html; empty: built-in templates"))
      delivery.defaultLanguage = try group.text(
        "default_language", "en", "language of messages if the user's language is unknown or has no template")
      delivery.authorityFile = path(
        try group.text("ca_file", "", "PEM CA certificates for the relay and the webhook; empty: the system's"))
      delivery.allowsPrivateAddresses = try group.flag(
        "allow_private_addresses", false, "allow a relay and a webhook on loopback and private networks")
      policy.deliveryQueueMax = try group.integer(
        "queue_max", 100_000, 1...10_000_000, "maximum number of queued messages; past it calls that send are rejected")
      try readSchedule(&group)
      try readRelay(&group, path)
      try readWebhook(&group, path)
    }
    policy.mailEnabled = delivery.mail != .off
    policy.textMessagesEnabled = delivery.textMessages != .off
    // A sign-in method without a transport is disabled. It also does not count as another method when a user removes
    // one.
    policy.emailLinkEnabled = policy.emailLinkEnabled && policy.mailEnabled
    if !policy.mailEnabled { policy.emailCodes = .off }
    policy.phoneEnabled = policy.phoneEnabled && policy.textMessagesEnabled
    guard policy.mailEnabled || policy.signUp != .verifyFirst else {
      throw reader.wrong("policy.sign_up", "verify_first needs a transport for mail: set delivery.mail")
    }
  }

  private mutating func readSchedule(_ group: inout SettingsReader) throws(ConfigurationError) {
    delivery.schedule.attemptMillis = try group.seconds(
      "attempt_seconds", 15, 1...60, "timeout of one attempt to send a message")
    delivery.schedule.firstPauseMillis = try group.seconds(
      "retry_seconds", 20, 2...3_600,
      "time from the first attempt to the second, doubled each time; must exceed attempt_seconds")
    delivery.schedule.pauseMaxMillis = try group.seconds(
      "retry_max_seconds", 3_600, 2...86_400, "maximum time between attempts")
    delivery.schedule.attemptsMax = try group.integer(
      "attempts_max", 20, 1...1_000, "number of attempts after which the server gives up on a message")
    delivery.schedule.concurrentMax = try group.integer(
      "concurrent_max", 16, 1...1_000,
      "maximum number of concurrent attempts of mail and text messages; at most 64 by SMTP")
    if delivery.mail == .smtp { delivery.schedule.mailsMax = DeliverySettings.mailThreadsMax }
    let days = try group.integer("kept_days", 14, 1...365, "how long undeliverable messages are kept, in days")
    delivery.schedule.keptMillis = Int64(days) * 86_400_000
    guard delivery.schedule.firstPauseMillis > delivery.schedule.attemptMillis,
      delivery.schedule.pauseMaxMillis >= delivery.schedule.firstPauseMillis
    else { throw group.wrong("retry_seconds", "it must be more than attempt_seconds, and at most retry_max_seconds") }
  }

  private mutating func readRelay(
    _ group: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) {
    try group.group("smtp") { smtp throws(ConfigurationError) in
      delivery.relay.host = try smtp.text("host", "", "host name of the SMTP relay")
      delivery.relay.port = UInt16(try smtp.integer("port", 587, 1...65_535, "port of the relay"))
      delivery.relay.security = try smtp.choice(
        "security", MailRequest.Security.startTLS, "TLS mode; none is allowed only for a loopback address")
      delivery.relay.heloName = try smtp.text("helo_name", "", "name in EHLO; empty: the sender's domain")
      delivery.relay.user = try smtp.text("user", "", "user name at the relay; empty: no authentication")
      delivery.relayPassword = try smtp.secret("password", path, "the password for the relay")
      let hasSMTPUTF8 = try smtp.flag(
        "smtputf8", false, "the relay supports SMTPUTF8; otherwise calls reject addresses such as amélie@example.com")
      policy.mailsUTF8Mailboxes = delivery.mail != .smtp || hasSMTPUTF8
      delivery.relay.sender = Sender(
        address: try smtp.text("from", "", "sender's email address"),
        name: try smtp.text("from_name", "", "sender's display name"))
      guard delivery.mail == .smtp else { return }
      guard MailRule.isName(delivery.relay.host) else {
        throw smtp.wrong("host", "it must be a host name or IP address")
      }
      guard MailRule.isAddress(delivery.relay.sender.address) else {
        throw smtp.wrong("from", "it must be an ASCII email address")
      }
      guard delivery.relay.heloName.isEmpty || MailRule.isName(delivery.relay.heloName) else {
        throw smtp.wrong("helo_name", "it must be a host name")
      }
      guard MailRule.isLine(delivery.relay.sender.name) else { throw smtp.wrong("from_name", "it must be one line") }
      guard delivery.relay.user.isEmpty == (delivery.relayPassword == nil) else {
        throw smtp.wrong("user", "set both a user and a password, or neither")
      }
    }
  }

  private mutating func readWebhook(
    _ group: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) {
    try group.group("webhook") { webhook throws(ConfigurationError) in
      delivery.webhookURL = try webhook.text("url", "", "https URL that receives messages by POST")
      let secret = try webhook.secret("secret", path, "the secret that signs messages")
      let next = try webhook.secret("second_secret", path, "a second secret, during a rotation")
      delivery.webhookSecrets = [secret, next].compactMap { $0 }
      guard delivery.uses(.webhook) else { return }
      guard URLRule.isURL(delivery.webhookURL) else {
        throw webhook.wrong("url", "it must be an ASCII https:// URL with a host, without spaces and without a user")
      }
      guard secret != nil else { throw webhook.wrong("secret_file", "set secret_file or secret_env to sign messages") }
    }
  }

  func checkDelivery(_ reader: SettingsReader) throws(ConfigurationError) {
    for (setting, transport) in [("mail", delivery.mail.rawValue), ("text_messages", delivery.textMessages.rawValue)] {
      guard transport != "outbox" || listen.isLoopback else {
        throw reader.wrong(
          "delivery.\(setting)", "an outbox contains codes in plain text and is allowed only on a loopback address")
      }
    }
  }
}
