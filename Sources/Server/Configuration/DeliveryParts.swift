internal import Crypto
internal import Delivery
internal import Fetch
internal import FoundationEssentials
internal import Identity
internal import Providers
internal import Reactor
internal import Store

// What messages leave by, made from the settings. Secrets and templates are read here and nowhere else: at the start.

extension Settings {
  func templates() throws(ConfigurationError) -> TemplateSet {
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

  /// nil: no road needs the network.
  func deliveryFetcher() throws -> CurlFetcher? {
    guard delivery.uses(.smtp) || delivery.uses(.webhook) else { return nil }
    var settings = FetchSettings()
    settings.caFile = delivery.authorityFile.isEmpty ? nil : delivery.authorityFile
    settings.limits.totalTimeMillis = Int(delivery.schedule.attemptMillis)
    settings.limits.perProviderMax = delivery.schedule.concurrentMax
    settings.limits.requestBodyBytesMax = 512 * 1024
    if delivery.allowsPrivateAddresses {
      let hosts = [delivery.relay.host.lowercased(), URLRule.host(delivery.webhookURL)]
      settings.privateHosts = Set(hosts.compactMap { $0 })
    }
    return try CurlFetcher(settings, drivers: 1)
  }

  func roads(_ fetcher: CurlFetcher?) throws(ConfigurationError) -> [DeliveryChannel: any Road] {
    var made: [MailRoad: any Road] = [:]
    if delivery.uses(.outbox) {
      let outbox = OutboxRoad(folder: delivery.outboxFolder)
      do { try outbox.prepare() } catch {
        throw ConfigurationError(setting: "delivery.outbox_folder", why: "\(error)")
      }
      made[.outbox] = outbox
    }
    if let fetcher {
      let secrets = try deliverySecrets()
      if delivery.uses(.smtp) {
        var relay = delivery.relay
        relay.password = secrets.relayPassword
        made[.smtp] = SMTPRoad(relay, fetcher: fetcher)
      }
      if delivery.uses(.webhook) {
        made[.webhook] = WebhookRoad(
          url: delivery.webhookURL, signature: WebhookSignature(secrets.webhook), fetcher: fetcher)
      }
    }
    var roads: [DeliveryChannel: any Road] = [:]
    roads[.mail] = made[delivery.mail]
    roads[.textMessage] = MailRoad(rawValue: delivery.textMessages.rawValue).flatMap { made[$0] }
    return roads
  }

  /// Those of the roads that are used.
  func deliverySecrets() throws(ConfigurationError) -> (relayPassword: Secret?, webhook: [Secret]) {
    let environment = ProcessInfo.processInfo.environment
    var password: Secret?
    if delivery.mail == .smtp, let source = delivery.relayPassword {
      password = try source.read("delivery.smtp.password", environment, bytesMin: 1)
    }
    var secrets: [Secret] = []
    if delivery.uses(.webhook) {
      for (source, name) in zip(delivery.webhookSecrets, ["secret", "second_secret"]) {
        secrets.append(try source.read("delivery.webhook.\(name)", environment, bytesMin: 32))
      }
    }
    return (password, secrets)
  }
}

extension SecretSource {
  private static let bytesMax = 4_096

  fileprivate func read(
    _ setting: String, _ environment: [String: String], bytesMin: Int
  ) throws(ConfigurationError) -> Secret {
    let place: String
    let found: [UInt8]?
    switch self {
    case .file(let path):
      place = "\(setting)_file"
      found = readFile(path, bytesMax: SecretSource.bytesMax)
    case .environment(let name):
      place = "\(setting)_env"
      found = environment[name].map { Array($0.utf8) }
    }
    guard var bytes = found else { throw ConfigurationError(setting: place, why: "what it names cannot be read") }
    // An editor's line end is not part of it.
    while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
    guard bytesMin...SecretSource.bytesMax ~= bytes.count, bytes.allSatisfy({ (0x20...0x7E).contains($0) }) else {
      throw ConfigurationError(
        setting: place, why: "it must hold one line of ASCII of \(bytesMin) to \(SecretSource.bytesMax) characters")
    }
    return Secret(copying: bytes)
  }
}
