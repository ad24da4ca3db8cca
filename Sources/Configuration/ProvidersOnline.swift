internal import HTTPClient
package import Providers
internal import Reactor
internal import Store

extension Settings {
  /// Result of `--check-config --online` for one provider.
  package struct OnlineLine: Sendable {
    package let text: String
    package let isWell: Bool
  }

  /// Checks what needs no user at every configured provider: discovery, keys, endpoints, client and clock.
  package func checkProviders() async throws(ConfigurationError) -> [OnlineLine] {
    let fetcher: CurlFetcher
    let thread: FetchThread
    do {
      fetcher = try CurlFetcher(fetchSettings, drivers: 1)
      thread = try FetchThread(fetcher, driver: 0, named: "providers")
    } catch {
      throw ConfigurationError(setting: "fetch", why: "\(error)", isPassing: true)
    }
    defer { thread.stop() }
    let registry = try registry(fetching: fetcher)
    var lines: [OnlineLine] = []
    for provider in providers {
      let findings = await registry.findings(of: provider.id, at: Timestamp(millis: wallMillis()))
      lines.append(Settings.line(of: provider.id, findings))
    }
    return lines
  }

  package static func line(of provider: String, _ findings: [ProviderFinding]) -> OnlineLine {
    let faults = findings.compactMap { finding -> String? in
      guard case .fault(let why, let fix) = finding else { return nil }
      return "\(why). Fix: \(fix)"
    }
    guard faults.isEmpty else {
      return OnlineLine(text: "\(provider): failed: \(faults.joined(separator: " "))", isWell: false)
    }
    let said = findings.compactMap { finding -> String? in
      switch finding {
      case .fine(let text): text
      case .warning(let text): "warning: \(text)"
      case .fault: nil
      }
    }
    return OnlineLine(text: "\(provider): ok" + (said.isEmpty ? "" : ": " + said.joined(separator: ", ")), isWell: true)
  }
}
