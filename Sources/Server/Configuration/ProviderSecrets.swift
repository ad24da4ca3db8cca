internal import Crypto
internal import Fetch
internal import FoundationEssentials
internal import Providers
internal import Reactor

extension Settings {
  /// The configured providers with their secrets, which are read here and nowhere else: once, at the start.
  func registry(fetching: any HTTPSFetching) throws(ConfigurationError) -> Registry {
    let environment = ProcessInfo.processInfo.environment
    var loaded: [ProviderSettings] = []
    for (index, provider) in providers.enumerated() {
      do throws(ProviderSettingsError) {
        loaded.append(try provider.loaded(environment))
      } catch {
        throw Settings.wrong(error, index)
      }
    }
    do throws(ProviderSettingsError) {
      return try Registry(loaded, fetching: fetching)
    } catch {
      throw Settings.wrong(error, providers.firstIndex { $0.id == error.provider } ?? 0)
    }
  }

  private static func wrong(_ error: ProviderSettingsError, _ index: Int) -> ConfigurationError {
    ConfigurationError(setting: "providers[\(index)].\(error.setting)", why: Settings.text(error))
  }
}

extension ProviderSettings {
  private static let secretBytesMax = 4096
  private static let keyFileBytesMax = 16 * 1024

  func loaded(_ environment: [String: String]) throws(ProviderSettingsError) -> ProviderSettings {
    var settings = self
    if let source = client.secretSource {
      let setting = if case .file = source { "client_secret_file" } else { "client_secret_env" }
      let bytes = try bytes(source, setting, environment, bytesMax: ProviderSettings.secretBytesMax)
      // An editor's line end is not part of it.
      let secret = String(decoding: bytes, as: UTF8.self).trimmingSuffix { $0.isNewline }
      // RFC 6749, A.2.
      guard !secret.isEmpty, secret.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
        throw ProviderSettingsError(provider: id, setting: setting, why: "must hold one line of ASCII")
      }
      settings.client.secret = Secret(copying: Array(secret.utf8))
    }
    if let source = client.privateKeySource {
      let setting = "private_key_file"
      let bytes = try bytes(source, setting, environment, bytesMax: ProviderSettings.keyFileBytesMax)
      do throws(CryptoError) {
        settings.client.privateKey = try PrivateKey(pem: Secret(copying: bytes))
      } catch {
        throw ProviderSettingsError(provider: id, setting: setting, why: "must hold one PEM private key, not encrypted")
      }
    }
    return settings
  }

  private func bytes(
    _ source: SecretSource, _ setting: String, _ environment: [String: String], bytesMax: Int
  ) throws(ProviderSettingsError) -> [UInt8] {
    func wrong(_ why: String) -> ProviderSettingsError {
      ProviderSettingsError(provider: id, setting: setting, why: why)
    }
    switch source {
    case .environment(let name):
      guard let value = environment[name] else { throw wrong("names \(name), which is not in the environment") }
      guard value.utf8.count <= bytesMax else { throw wrong("is larger than \(bytesMax) bytes") }
      return Array(value.utf8)
    case .file(let path):
      guard let bytes = readFile(path, bytesMax: bytesMax) else { throw wrong("names \(path), which cannot be read") }
      return bytes
    }
  }
}

/// For a registry that is only looked at.
struct NoFetching: HTTPSFetching {
  func fetch(_ request: FetchRequest) async throws -> FetchedBody { throw FetchError.closed }
}

extension String {
  fileprivate func trimmingSuffix(while isTrimmed: (Character) -> Bool) -> String {
    var text = self
    while let last = text.last, isTrimmed(last) { text.removeLast() }
    return text
  }
}
