internal import API
package import Callers
package import HTTPClient
internal import Providers
internal import Transport

// Inputs of components, derived from the settings.

extension Settings {
  /// Maximum number of series in the metrics.
  package var metricSeriesMax: Int { limits.metricSeriesMax }

  /// Creates the table of callers.
  /// - Parameter paths: paths of the method table, in its order.
  /// - Parameter previous: keys of an earlier table, whose times of last use stay known.
  package func callerTable(
    _ paths: [String], _ labels: CallerLabels = CallerLabels(), previous: [APIKey] = []
  ) -> CallerTable {
    let unidentified = CallerSettings(
      name: Settings.unidentifiedCaller, methods: Settings.ordinaryMethods,
      mayFetchByEmail: unidentifiedMayFetchByEmail, audiences: [defaultAudience], redirectURIs: unidentifiedRedirectURIs)
    return CallerTable(
      callers, unidentified: allowUnidentified ? unidentified : nil, paths: paths, labels: labels,
      trustedProxies: trustedProxies, previous: previous)
  }

  package var fetchSettings: FetchSettings {
    var settings = FetchSettings()
    settings.limits = limits.fetch
    settings.caFile = fetchAuthorityFile.isEmpty ? nil : fetchAuthorityFile
    if fetchAllowsPrivateAddresses { settings.privateHosts = Set(providers.flatMap(\.urls).compactMap(URLRule.host)) }
    return settings
  }
}

extension ProviderSettings {
  fileprivate var urls: [String] {
    let served = issuers + endpoints.all.map(\.url)
    return switch keys {
    case .discovery(let url), .jwks(let url): served + [url]
    case .none: served
    }
  }
}

extension Settings {
  /// Whether a pattern of rights can match a method. A wrong pattern prevents the start instead of granting nothing.
  static func namesMethods(_ pattern: String) -> Bool {
    if pattern == "*" { return true }
    let parts = pattern.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, DescriptorSet.services.contains(String(parts[0])) else { return false }
    return parts[1] == "*" || DescriptorSet.methods.contains("/" + pattern)
  }
}
