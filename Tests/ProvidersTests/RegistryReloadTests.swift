import Store
import Testing

@testable import Providers

@Test func `an unchanged provider keeps its cached keys in a new registry, another one fetches them`() async throws {
  let issuer = Issuer()
  let fetcher = ScriptedFetcher(issuer)
  func verify(_ registry: Registry) async throws {
    _ = try await registry.verify(PresentedToken(idToken: try issuer.token([:])), of: "oidc.corp", at: now)
  }
  let first = try Registry([issuer.settings], fetching: fetcher)
  try await verify(first)
  let fetched = fetcher.requests.count
  try await verify(try Registry([issuer.settings], fetching: fetcher, previous: first, unchanged: ["oidc.corp"]))
  #expect(fetcher.requests.count == fetched)
  try await verify(try Registry([issuer.settings], fetching: fetcher, previous: first, unchanged: ["google.com"]))
  #expect(fetcher.requests.count > fetched)
}
