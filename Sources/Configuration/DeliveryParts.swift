internal import Crypto
package import Delivery
internal import FoundationEssentials
internal import HTTPClient
internal import Identity
internal import Providers
package import Store
internal import Transport

// Transports for messages, created from the settings. Only this code reads the secrets and templates, at the start.

extension Settings {
  package func templates() throws(ConfigurationError) -> TemplateSet {
    let kinds = OutgoingMessage.Kind.allCases.map {
      TemplateKind($0.rawValue, values: $0.values, occasionalValues: $0.occasionalValues)
    }
    let folder = delivery.templateFolder.isEmpty ? nil : delivery.templateFolder
    do throws(TemplateError) {
      return try TemplateSet(kinds, folder: folder, defaultLanguage: delivery.defaultLanguage)
    } catch {
      throw ConfigurationError(
        setting: folder == nil ? "delivery.default_language" : "delivery.template_folder", why: "\(error)")
    }
  }

  package func deliveryFetchers() throws -> DeliveryFetchers {
    var fetchers = DeliveryFetchers()
    var settings = FetchSettings()
    settings.caFile = delivery.authorityFile.isEmpty ? nil : delivery.authorityFile
    settings.limits.totalTimeMillis = Int(delivery.schedule.attemptMillis)
    settings.limits.perProviderMax = delivery.schedule.concurrentMax
    settings.limits.requestBodyBytesMax = 512 * 1024
    if delivery.allowsPrivateAddresses {
      let hosts = [delivery.relay.host.lowercased(), URLRule.host(delivery.webhookURL)]
      settings.privateHosts = Set(hosts.compactMap { $0 })
    }
    if delivery.uses(.smtp) {
      let transports = [policy.mailEnabled, policy.textMessagesEnabled].count { $0 }
      fetchers.mailsMax = delivery.schedule.places(.mail, transports: transports)
      fetchers.mails = try CurlFetcher(settings, mailsMax: fetchers.mailsMax)
    }
    if delivery.uses(.webhook) { fetchers.webhook = try CurlFetcher(settings, drivers: 1) }
    return fetchers
  }

  package func transports(
    _ fetchers: DeliveryFetchers
  ) throws(ConfigurationError) -> [DeliveryChannel: any MessageTransport] {
    var made: [MailTransport: any MessageTransport] = [:]
    if delivery.uses(.outbox) {
      let outbox = OutboxTransport(folder: delivery.outboxFolder)
      do { try outbox.prepare() } catch {
        throw ConfigurationError(
          setting: "delivery.outbox_folder", why: "\(error)", isPassing: ConfigurationError.isPassing(error))
      }
      made[.outbox] = outbox
    }
    let secrets = try Settings.again(deliverySecrets)
    if let fetcher = fetchers.mails {
      var relay = delivery.relay
      relay.password = secrets.relayPassword
      made[.smtp] = SMTPTransport(relay, fetcher: fetcher)
    }
    if let fetcher = fetchers.webhook {
      made[.webhook] = WebhookTransport(
        url: delivery.webhookURL, signature: WebhookSignature(secrets.webhook), fetcher: fetcher)
    }
    var transports: [DeliveryChannel: any MessageTransport] = [:]
    transports[.mail] = made[delivery.mail]
    transports[.textMessage] = MailTransport(rawValue: delivery.textMessages.rawValue).flatMap { made[$0] }
    return transports
  }

  /// Reads the secrets of the configured transports.
  func deliverySecrets() throws(ConfigurationError) -> (relayPassword: Secret?, webhook: [Secret]) {
    let environment = ProcessInfo.processInfo.environment
    var password: Secret?
    if delivery.mail == .smtp, let source = delivery.relayPassword {
      password = try secret("delivery.smtp.password", source, environment)
    }
    var secrets: [Secret] = []
    if delivery.uses(.webhook) {
      for (source, name) in zip(delivery.webhookSecrets, ["secret", "second_secret"]) {
        secrets.append(try secret("delivery.webhook.\(name)", source, environment, bytesMin: 32))
      }
    }
    return (password, secrets)
  }

  private func secret(
    _ setting: String, _ source: SecretSource, _ environment: [String: String], bytesMin: Int = 1
  ) throws(ConfigurationError) -> Secret {
    do throws(SecretFault) {
      return try source.line(environment, bytesMin: bytesMin)
    } catch {
      throw ConfigurationError(
        setting: source.setting(setting), why: "it \(error.why)", isPassing: error.isPassing)
    }
  }
}
