internal import Admission
internal import Fetch
internal import Providers
internal import Services

// What the parts are made from, out of the settings.

extension Settings {
  /// - Parameter paths: of the method table, in its order.
  func callerTable(_ paths: [String]) throws(ConfigurationError) -> CallerTable {
    for (index, caller) in callers.enumerated() {
      for pattern in caller.methods where !Rights.matchesAny(pattern: pattern, paths: paths) {
        throw ConfigurationError(setting: "callers[\(index)].methods", why: "\(pattern) names no method")
      }
    }
    let unidentified = CallerSettings(
      name: "unidentified", methods: Settings.ordinaryMethods, mayFetchByEmail: unidentifiedMayFetchByEmail,
      audiences: [defaultAudience])
    return CallerTable(callers, unidentified: allowUnidentified ? unidentified : nil, paths: paths)
  }

  var fetchSettings: FetchSettings {
    var settings = FetchSettings()
    settings.caFile = fetchAuthorityFile.isEmpty ? nil : fetchAuthorityFile
    if fetchAllowsPrivateAddresses { settings.privateHosts = Set(providers.flatMap(\.urls).compactMap(Settings.host)) }
    return settings
  }

  /// The host of an `https://` URL.
  private static func host(_ url: String) -> String? {
    guard url.hasPrefix("https://") else { return nil }
    let authority = url.dropFirst("https://".count).prefix { $0 != "/" && $0 != "?" }
    guard authority.hasPrefix("[") else { return String(authority.prefix { $0 != ":" }) }
    return String(authority.dropFirst().prefix { $0 != "]" })
  }
}

extension ProviderSettings {
  fileprivate var urls: [String] {
    switch keys {
    case .discovery(let url), .jwks(let url): issuers + [url]
    }
  }
}

extension Method {
  /// A method may ask for less than configuration allows, never for more.
  func limited(to bytesMax: Int) -> Method {
    Method(
      path, messageBytesMax: min(messageBytesMax, bytesMax), timeLimitMillis: timeLimitMillis,
      isOpenToAll: isOpenToAll, handler)
  }
}
