import Crypto
import HTTPClient
import Store
import Tokens

/// The result of a check of one provider over the network. Texts contain no secret.
package enum ProviderFinding: Hashable, Sendable {
  case fine(String)
  /// The provider works, but needs attention.
  case warning(String)
  case fault(why: String, fix: String)

  init(_ refusal: ProviderRefusal, _ what: String) {
    self = switch refusal {
    case .misconfigured(let why, let fix): .fault(why: why, fix: fix)
    case .unavailable(let why):
      .fault(why: "\(what): \(why)", fix: "Check the network, DNS and proxy rules, and whether the provider is up.")
    default: .fault(why: "\(what): \(refusal)", fix: "Compare the settings with the provider's documentation.")
    }
  }
}

/// Requests to a provider's servers that need no user.
struct ProviderCheck {
  static let clockDifferenceSecondsMax: Int64 = 60
  /// A code that no provider issues. A provider that knows our client answers that the code is invalid.
  static let code = "latchkey-check-config"

  let settings: ProviderSettings
  let calls: ProviderCalls
  let now: Timestamp

  init(_ settings: ProviderSettings, fetching: any HTTPSFetching, at now: Timestamp) {
    self.settings = settings
    calls = ProviderCalls(providerID: settings.id, fetching: fetching)
    self.now = now
  }

  /// Checks whether a page or a profile exists. Its response without parameters does not matter.
  func page(_ setting: String, _ url: String) async -> ProviderFinding? {
    guard !url.isEmpty else { return nil }
    do {
      let status = try await calls.fetching.get(url, for: settings.id).status
      guard status < 500, status != 404, status != 410 else {
        return .fault(why: "`\(setting)` \(url) answers with status \(status)", fix: "Correct `\(setting)`.")
      }
      return nil
    } catch FetchError.redirected {
      return nil
    } catch {
      let fix = (error as? FetchError).flatMap { Fault.fix($0, setting) }
      return .fault(
        why: "`\(setting)` \(url): \(error)", fix: fix ?? "Check the network, DNS, and whether the provider is up.")
    }
  }

  /// Redeems a code that cannot exist: the response shows whether the token endpoint accepts our client.
  func client(_ flow: CodeFlow, at endpoint: String, by proof: ClientProof? = nil) async -> ProviderFinding {
    let state = FlowState(
      redirectURI: "https://localhost/latchkey-check-config", state: "check", nonce: "check",
      codeVerifier: String(repeating: "c", count: 43))
    do {
      _ = try await flow.tokens(for: ProviderCheck.code, of: state, at: endpoint, by: proof, now: now)
      return .fine("the token endpoint answers")
    } catch let refusal as ProviderRefusal {
      switch refusal {
      case .invalid, .expired: return .fine("the token endpoint accepts the client")
      case .refused(let why):
        let words = ["invalid_client", "unauthorized_client", "incorrect_client_credentials", "status 401"]
        guard words.contains(where: why.lowercased().contains) else {
          return .fine("the token endpoint answers (\(why))")
        }
        return .fault(
          why: "the token endpoint rejects the client: \(why)",
          fix: "Correct `client_ids`, the client secret or key, and `client_authentication`.")
      default: return ProviderFinding(refusal, "token endpoint")
      }
    } catch {
      return .fault(why: "token endpoint: \(error)", fix: "Check the network.")
    }
  }

  func clock(_ url: String) async -> ProviderFinding? {
    guard let date = try? await calls.fetching.get(url, for: settings.id).dateSeconds else { return nil }
    let difference = now.seconds - date
    guard abs(difference) > ProviderCheck.clockDifferenceSecondsMax else { return nil }
    return .fault(
      why: "this machine's clock is \(abs(difference)) s \(difference > 0 ? "ahead of" : "behind") the provider's",
      fix: "Synchronize the clock (NTP).")
  }

  func pages(_ endpoints: Endpoints) async -> [ProviderFinding] {
    var findings: [ProviderFinding] = []
    for (setting, url) in [("authorization_url", endpoints.authorization), ("profile_url", endpoints.profile)] {
      if let finding = await page(setting, url) { findings.append(finding) }
    }
    return findings
  }
}

extension OIDCClient {
  func findings(at now: Timestamp) async -> [ProviderFinding] {
    let check = ProviderCheck(settings, fetching: fetching, at: now)
    let read: KeySource.Fetched
    do throws(KeySource.Failure) { read = try await keys.source.read() } catch {
      return [ProviderFinding(error.refusal, "keys")]
    }
    var findings: [ProviderFinding] = [.fine("\(read.keys.count) keys")]
    let odd = read.keys.skipped.filter { !$0.reason.isOrdinary }.map(\.reason.rawValue)
    if !odd.isEmpty { findings.append(.warning("keys skipped: \(Set(odd).sorted().joined(separator: ", "))")) }
    if let finding = await check.clock(settings.keys.url) { findings.append(finding) }
    guard let flow else { return findings }
    do {
      let places = try await places(at: now)
      findings += await check.pages(places.endpoints)
      findings.append(await check.client(flow, at: places.endpoints.token, by: places.proof))
    } catch {
      findings.append(ProviderFinding(error as? ProviderRefusal ?? .unavailable(why: "\(error)"), "flows"))
    }
    return findings
  }
}

extension ProviderSettings.Keys {
  fileprivate var url: String {
    switch self {
    case .discovery(let url), .jwks(let url): url
    case .none: ""
    }
  }
}

extension CodeAdapter {
  package func findings(at now: Timestamp) async -> [ProviderFinding] { await flowFindings(at: now) }

  func flowFindings(at now: Timestamp) async -> [ProviderFinding] {
    let check = ProviderCheck(settings, fetching: flow.calls.fetching, at: now)
    let findings = await check.pages(settings.endpoints)
    return findings + [await check.client(flow, at: settings.endpoints.token)]
  }
}

extension OIDCAdapter {
  package func findings(at now: Timestamp) async -> [ProviderFinding] { await client.findings(at: now) }
}
