internal import Crypto
internal import FoundationEssentials
package import HTTPClient
package import Observability
package import Providers

extension Settings {
  /// Creates the registry of the configured providers. Only this code reads their secrets, once at the start.
  package func registry(
    fetching: any HTTPSFetching, _ notices: ProviderNotices? = nil, previous: Registry? = nil,
    unchanged: Set<String> = []
  ) throws(ConfigurationError) -> Registry {
    let environment = ProcessInfo.processInfo.environment
    var loaded: [ProviderSettings] = []
    for (index, provider) in providers.enumerated() {
      do throws(ProviderSettingsError) {
        var provider = try provider.loaded(environment)
        if let notices { provider.onSkippedKeys = { [id = provider.id] in notices.skipped($0, of: id) } }
        loaded.append(provider)
      } catch {
        throw Settings.wrong(error, index)
      }
    }
    do throws(ProviderSettingsError) {
      return try Registry(loaded, fetching: fetching, previous: previous, unchanged: unchanged)
    } catch {
      throw Settings.wrong(error, providers.firstIndex { $0.id == error.provider } ?? 0)
    }
  }

  /// Returns one error for each unusable provider.
  func faultsOfProviders() -> [ConfigurationError] {
    providers.indices.compactMap { index in
      var alone = self
      alone.providers = [providers[index]]
      do throws(ConfigurationError) {
        _ = try alone.registry(fetching: NoFetching())
        return nil
      } catch {
        let place = "providers[\(self.index(index, in: "providers"))]"
        let setting = error.setting.replacing("providers[0]", with: place, maxReplacements: 1)
        return ConfigurationError(setting: setting, why: error.why, isPassing: error.isPassing)
      }
    }
  }

  private static func wrong(_ error: ProviderSettingsError, _ index: Int) -> ConfigurationError {
    ConfigurationError(setting: "providers[\(index)].\(error.setting)", why: Settings.text(error))
  }
}

extension ProviderSettings {
  private static let keyFileBytesMax = 16 * 1024

  package func loaded(_ environment: [String: String]) throws(ProviderSettingsError) -> ProviderSettings {
    var settings = self
    if let source = client.secretSource {
      do throws(SecretFault) {
        settings.client.secret = try source.line(environment)
      } catch {
        throw ProviderSettingsError(provider: id, setting: source.setting("client_secret"), why: error.why)
      }
    }
    if let source = client.privateKeySource {
      let setting = source.setting("private_key")
      let bytes: [UInt8]
      do throws(SecretFault) {
        bytes = try source.bytes(environment, bytesMax: ProviderSettings.keyFileBytesMax)
      } catch {
        throw ProviderSettingsError(provider: id, setting: setting, why: error.why)
      }
      do throws(CryptoError) {
        settings.client.privateKey = try PrivateKey(pem: Secret(copying: bytes))
      } catch {
        throw ProviderSettingsError(provider: id, setting: setting, why: "must contain one unencrypted PEM private key")
      }
    }
    return settings
  }
}

/// Fetcher that rejects all requests, for checks of a registry.
struct NoFetching: HTTPSFetching {
  func fetch(_ request: FetchRequest) async throws -> FetchedBody { throw FetchError.closed }
}
