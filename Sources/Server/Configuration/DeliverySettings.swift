internal import Crypto
internal import Delivery
internal import Fetch
internal import FoundationEssentials
internal import Identity
internal import Providers
internal import Reactor
internal import Store

/// How mail leaves.
enum MailRoad: String, CaseIterable, Sendable {
  case off
  case outbox
  case smtp
  case webhook
}

/// How text messages leave.
enum TextRoad: String, CaseIterable, Sendable {
  case off
  case outbox
  case webhook
}

/// How messages leave, and what they say.
struct DeliverySettings: Sendable {
  /// A mail on its way occupies a thread.
  static let mailThreadsMax = 64

  var mail = MailRoad.off
  var textMessages = TextRoad.off
  var outboxFolder = ""
  /// Empty: the built-in templates alone.
  var templateFolder = ""
  var defaultLanguage = ""
  var schedule = Schedule()
  /// Empty: those of the system.
  var authorityFile = ""
  var allowsPrivateAddresses = false
  var relay = RelaySettings(host: "", port: 587, security: .startTLS, sender: Sender(address: ""))
  var relayPassword: SecretSource?
  var webhookURL = ""
  /// The current one first.
  var webhookSecrets: [SecretSource] = []

  var roadNames: [String] { Set([mail.rawValue, textMessages.rawValue]).sorted() }

  func uses(_ road: MailRoad) -> Bool { mail == road || textMessages.rawValue == road.rawValue }
}

extension Settings {
  mutating func readDelivery(
    _ reader: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) {
    try reader.group("delivery") { group throws(ConfigurationError) in
      delivery.mail = try group.choice("mail", MailRoad.off, "how mail leaves; off: what needs mail is not offered")
      delivery.textMessages = try group.choice("text_messages", TextRoad.off, "how text messages leave")
      delivery.outboxFolder = path(
        try group.text("outbox_folder", "outbox", "folder of the outbox, which holds codes in clear"))
      delivery.templateFolder = path(
        try group.text("template_folder", "", "folder with LANGUAGE/KIND.txt and .html; empty: what is built in"))
      delivery.defaultLanguage = try group.text(
        "default_language", "en", "of messages to those whose language is unknown or has no template")
      delivery.authorityFile = path(
        try group.text("ca_file", "", "PEM authorities of relay and webhook; empty: those of the system"))
      delivery.allowsPrivateAddresses = try group.flag(
        "allow_private_addresses", false, "let relay and webhook be on loopback and private networks")
      policy.deliveryQueueMax = try group.integer(
        "queue_max", 100_000, 1...10_000_000, "messages that may wait; past them a call is refused")
      try readSchedule(&group)
      try readRelay(&group, path)
      try readWebhook(&group, path)
    }
    policy.mailEnabled = delivery.mail != .off
    policy.textMessagesEnabled = delivery.textMessages != .off
    // A way in that nothing can be sent for is none: it is not offered, and does not count where the last one would go.
    policy.emailLinkEnabled = policy.emailLinkEnabled && policy.mailEnabled
    policy.phoneEnabled = policy.phoneEnabled && policy.textMessagesEnabled
    guard policy.mailEnabled || policy.signUp == .immediate else {
      throw reader.wrong("policy.sign_up", "verify_first needs a road for mail: set delivery.mail")
    }
  }

  private mutating func readSchedule(_ group: inout SettingsReader) throws(ConfigurationError) {
    delivery.schedule.attemptMillis = try group.seconds("attempt_seconds", 15, 1...60, "one attempt to send a message")
    delivery.schedule.firstPauseMillis = try group.seconds(
      "retry_seconds", 20, 2...3_600, "from an attempt to the second, doubled each time; more than attempt_seconds")
    delivery.schedule.pauseMaxMillis = try group.seconds(
      "retry_max_seconds", 3_600, 2...86_400, "the longest pause between attempts")
    delivery.schedule.attemptsMax = try group.integer(
      "attempts_max", 20, 1...1_000, "attempts after which a message is given up")
    delivery.schedule.concurrentMax = try group.integer(
      "concurrent_max", 16, 1...1_000, "concurrent attempts, shared by mails and text messages; by SMTP at most 64")
    if delivery.mail == .smtp { delivery.schedule.mailsMax = DeliverySettings.mailThreadsMax }
    let days = try group.integer("kept_days", 14, 1...365, "how long a message that was given up is remembered")
    delivery.schedule.keptMillis = Int64(days) * 86_400_000
    guard delivery.schedule.firstPauseMillis > delivery.schedule.attemptMillis,
      delivery.schedule.pauseMaxMillis >= delivery.schedule.firstPauseMillis
    else { throw group.wrong("retry_seconds", "it must be more than attempt_seconds, and at most retry_max_seconds") }
  }

  private mutating func readRelay(
    _ group: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) {
    try group.group("smtp") { smtp throws(ConfigurationError) in
      delivery.relay.host = try smtp.text("host", "", "name of the relay that takes mail")
      delivery.relay.port = UInt16(try smtp.integer("port", 587, 1...65_535, "its port"))
      delivery.relay.security = try smtp.choice(
        "security", MailRequest.Security.startTLS, "none is taken to a loopback address only")
      delivery.relay.heloName = try smtp.text("helo_name", "", "our name in EHLO; empty: the sender's domain")
      delivery.relay.user = try smtp.text("user", "", "of the relay; empty: no login")
      delivery.relayPassword = try smtp.secret("password", path, "the user's password")
      let hasSMTPUTF8 = try smtp.flag(
        "smtputf8", false, "the relay offers SMTPUTF8; without it, calls reject addresses such as amélie@example.com")
      policy.mailsUTF8Mailboxes = delivery.mail != .smtp || hasSMTPUTF8
      delivery.relay.sender = Sender(
        address: try smtp.text("from", "", "address that mails are from"),
        name: try smtp.text("from_name", "", "name beside it"))
      guard delivery.mail == .smtp else { return }
      guard MailRule.isName(delivery.relay.host) else { throw smtp.wrong("host", "it must be a name or an address") }
      guard MailRule.isAddress(delivery.relay.sender.address) else {
        throw smtp.wrong("from", "it must be an address of ASCII")
      }
      guard delivery.relay.heloName.isEmpty || MailRule.isName(delivery.relay.heloName) else {
        throw smtp.wrong("helo_name", "it must be a host's name")
      }
      guard MailRule.isLine(delivery.relay.sender.name) else { throw smtp.wrong("from_name", "it must be one line") }
      guard delivery.relay.user.isEmpty == (delivery.relayPassword == nil) else {
        throw smtp.wrong("user", "a user and a password go together")
      }
    }
  }

  private mutating func readWebhook(
    _ group: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) {
    try group.group("webhook") { webhook throws(ConfigurationError) in
      delivery.webhookURL = try webhook.text("url", "", "https address that messages are posted to")
      let secret = try webhook.secret("secret", path, "the secret that signs them")
      let next = try webhook.secret("second_secret", path, "a second one, while the first is exchanged")
      delivery.webhookSecrets = [secret, next].compactMap { $0 }
      guard delivery.uses(.webhook) else { return }
      guard URLRule.isURL(delivery.webhookURL) else {
        throw webhook.wrong("url", "it must be https://… with a host, of ASCII without blanks, and without a user")
      }
      guard secret != nil else { throw webhook.wrong("secret_file", "messages are signed: it or secret_env is needed") }
    }
  }

  func checkDelivery(_ reader: SettingsReader) throws(ConfigurationError) {
    for (setting, road) in [("mail", delivery.mail.rawValue), ("text_messages", delivery.textMessages.rawValue)] {
      guard road != "outbox" || Settings.isLoopback(listenAddress) else {
        throw reader.wrong(
          "delivery.\(setting)", "an outbox holds codes in clear: it is for development, on a loopback address only")
      }
    }
  }
}
