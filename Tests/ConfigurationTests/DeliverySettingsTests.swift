import Crypto
import Delivery
import Identity
import Store
import TestSupport
import Testing

@testable import Configuration

@Test func `without a transport nothing is sent, and methods that need one are not offered`() throws {
  let settings = try settings()
  #expect(settings.delivery.mail == .off && settings.delivery.textMessages == .off)
  #expect(!settings.policy.mailEnabled && !settings.policy.textMessagesEnabled)
  let fetchers = try settings.deliveryFetchers()
  #expect(try settings.transports(fetchers).isEmpty && fetchers.mails == nil && fetchers.webhook == nil)
}

@Test func `a mail transport enables mail only, and a text message transport enables text messages only`() throws {
  let mail = try settings("delivery: { mail: 'outbox' }")
  #expect(mail.policy.mailEnabled && !mail.policy.textMessagesEnabled)
  let texts = try settings("delivery: { text_messages: 'outbox' }")
  #expect(!texts.policy.mailEnabled && texts.policy.textMessagesEnabled)
}

@Test func `each kind of message uses the transport of its channel`() async throws {
  try await withFolder { folder in
    try write(String(repeating: "s", count: 32) + "\n", to: folder + "/secret")
    let settings = try settings(
      """
      delivery: {
        mail: 'outbox', text_messages: 'webhook', outbox_folder: '\(folder)/out',
        webhook: { url: 'https://hooks.example/', secret_file: '\(folder)/secret' },
      }
      """)
    let transports = try settings.transports(try settings.deliveryFetchers())
    #expect(transports[.mail]?.name == "outbox" && transports[.textMessage]?.name == "webhook")
    #expect(settings.delivery.transportNames == ["outbox", "webhook"])
  }
}

@Test func `every kind of message has templates in the configured language`() throws {
  _ = try settings("delivery: { default_language: 'de' }").templates()
  #expect(refusal { try settings("delivery: { default_language: 'fr' }").templates() }?.setting
    == "delivery.default_language")
  #expect(refusal { try settings("delivery: { template_folder: '/nowhere' }").templates() }?.setting
    == "delivery.template_folder")
}

@Test func `a webhook secret that is short, missing or not one line is rejected with its setting`() async throws {
  try await withFolder { folder in
    let text = "delivery: { mail: 'webhook', webhook: { url: 'https://h.example', secret_file: '\(folder)/s' } }"
    for secret in [String(repeating: "s", count: 31), "", String(repeating: "s\n", count: 32)] {
      try write(secret, to: folder + "/s")
      let refused = refusal { try settings(text).deliverySecrets() }
      #expect(refused?.setting == "delivery.webhook.secret_file")
      #expect(refused?.why == "it must contain one line of ASCII of 32 to 4096 characters")
    }
    try write(String(repeating: "s", count: 32) + "\r\n", to: folder + "/s")
    #expect(try settings(text).deliverySecrets().webhook.first?.count == 32)
  }
  let text = "delivery: { mail: 'webhook', webhook: { url: 'https://h.example', secret_env: 'LATCHKEY_NO_SUCH' } }"
  #expect(refusal { try settings(text).deliverySecrets() }?.setting == "delivery.webhook.secret_env")
}
