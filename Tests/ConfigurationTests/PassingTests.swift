import HTTPClient
import Store
import Testing

@testable import Reactor
@testable import Configuration

@Test func `a lack of descriptors, an unavailable store and a held folder are temporary faults`() {
  let passing: [any Error] = [
    SystemError(code: 24, call: "eventfd"), StoreError.unavailable("unable to open database file"),
    FetchError.unreachable("libcurl or the system cannot create a driver"), PrivateFolder.Held(path: "/backups"),
  ]
  for error in passing { #expect(ConfigurationError.isPassing(error), "\(error)") }
  let lasting: [any Error] = [SystemError(code: 13, call: "listen"), StoreError.unusable("no"), StoreError.closed]
  for error in lasting { #expect(!ConfigurationError.isPassing(error), "\(error)") }
}

@Test func `a fault when valid settings are read again may pass`() throws {
  let read = try Settings.again { () throws(ConfigurationError) -> Int in 5 }
  #expect(read == 5)
  let again = refusal {
    try Settings.again { () throws(ConfigurationError) -> Int in throw ConfigurationError(setting: "a", why: "b") }
  }
  #expect(again == ConfigurationError(setting: "a", why: "b", isPassing: true))
}
