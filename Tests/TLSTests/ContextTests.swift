import Certificates
import Reactor
import Testing

@testable import TLS

private let here = Certificates.shared

private func refusal(_ settings: TLSSettings) -> TLSError? {
  do {
    _ = try TLSContext(settings)
    return nil
  } catch {
    return error
  }
}

@Test func `a certificate with its key makes a context in every client certificate mode`() {
  for clients in ClientCertificates.allCases {
    #expect(refusal(here.settings(clients: clients)) == nil)
    #expect(refusal(here.settings(clients: clients, tls13Only: true)) == nil)
  }
}

@Test(arguments: ["missing.pem", "garbage.pem", "empty.pem", "server.key"])
func `the error for an unusable certificate file names its setting`(file: String) throws {
  let error = try #require(refusal(here.settings(certificate: file)))
  #expect(error.setting == "tls.certificate_file")
  #expect(error.why.contains(here.path(file)))
  #expect(error.description == "tls.certificate_file: \(error.why)")
}

@Test(arguments: ["missing.key", "garbage.pem", "empty.pem", "server.pem"])
func `the error for an unusable key file names its setting`(file: String) throws {
  let error = try #require(refusal(here.settings(key: file)))
  #expect(error.setting == "tls.key_file")
  #expect(error.why.contains(here.path(file)))
}

@Test func `files that are rejected repeatedly leave nothing behind`() {
  func residentPages() -> Int {
    let numbers = readFile("/proc/self/statm", bytesMax: 4_096) ?? []
    return Int(String(decoding: numbers, as: UTF8.self).split(separator: " ")[1]) ?? 0
  }
  func refuse() { for _ in 0..<2_000 { _ = refusal(here.settings(certificate: "garbage.pem")) } }
  refuse()
  let before = residentPages()
  refuse()
  // A context takes about six kilobytes, a page four.
  #expect(residentPages() < before + 1_000)
}

@Test(arguments: ["dns.key", "other-kind.key"])
func `the error for a key that does not match the certificate says so`(key: String) throws {
  let error = try #require(refusal(here.settings(key: key)))
  #expect(error.setting == "tls.key_file")
  #expect(error.why.contains("does not belong to the certificate"))
}

@Test(arguments: ["missing.pem", "garbage.pem", "empty.pem"], [ClientCertificates.optional, .required])
func `the error for an unusable client authority file names its setting`(
  file: String, clients: ClientCertificates
) throws {
  let error = try #require(refusal(here.settings(authority: file, clients: clients)))
  #expect(error.setting == "tls.client_ca_file")
  #expect(error.why.contains(here.path(file)))
}

@Test(arguments: ["locked.key", "locked-pkcs8.key"])
func `a TLS key with a passphrase is rejected without a prompt`(key: String) throws {
  let error = try #require(refusal(here.settings(key: key)))
  #expect(error.setting == "tls.key_file")
  #expect(error.why.contains("is encrypted"))
}

@Test func `a chain that begins with the leaf is served, up to its root`() {
  #expect(refusal(here.settings(certificate: "chain.pem", key: "below-middle.key")) == nil)
}

@Test(arguments: [("root-first.pem", "middle.key"), ("gap.pem", "below-middle.key")])
func `RFC 8446 4.4.2: a chain in which a certificate does not certify the one before it is refused`(
  certificate: String, key: String
) throws {
  let error = try #require(refusal(here.settings(certificate: certificate, key: key)))
  #expect(error.setting == "tls.certificate_file")
  #expect(error.why.contains("certificate 1 was not signed by the one after it"))
}

@Test func `a certificate that clients would not accept from a server is rejected`() throws {
  let error = try #require(refusal(here.settings(certificate: "client-only.pem", key: "client-only.key")))
  #expect(error.setting == "tls.certificate_file")
  #expect(error.why.contains("does not start with a server certificate"))
}

/// Seconds from now at which a certificate of two days is accepted or rejected, and the error's text.
private let moments: [(seconds: Int64, why: String?)] = [
  (-3_600, "is not valid before 2"), (0, nil), (2 * 86_400 - 3_600, nil), (2 * 86_400 + 120, "expired at 2"),
]

@Test(arguments: moments, ["server", "chain"])
func `a chain is rejected before and after the validity of any of its certificates`(
  moment: (seconds: Int64, why: String?), name: String
) throws {
  let key = name == "chain" ? "below-middle.key" : "server.key"
  let then = wallMillis() + moment.seconds * 1_000
  do {
    let keys = try TicketKeys(nowMillis: 0)
    _ = try TLSContext(here.settings(certificate: name + ".pem", key: key), ticketKeys: keys, wallMillis: then)
    #expect(moment.why == nil)
  } catch {
    #expect(error.setting == "tls.certificate_file")
    #expect(error.why.contains(try #require(moment.why)))
    #expect(error.isPassing == (moment.seconds < 0), "an expired certificate stays expired")
  }
}

@Test func `a file is read up to its limit, and refused past it`() throws {
  var settings = here.settings()
  settings.limits.fileBytesMax = run("cat", [here.path("server.pem")]).utf8.count
  #expect(refusal(settings) == nil)
  settings.limits.fileBytesMax -= 1
  let error = try #require(refusal(settings))
  #expect(error.setting == "tls.certificate_file")
  #expect(error.why.contains("more than \(settings.limits.fileBytesMax) bytes"))
}

@Test func `a pipe in place of a file is rejected without waiting for it`() throws {
  let error = try #require(refusal(here.settings(certificate: "pipe.pem")))
  #expect(error.setting == "tls.certificate_file")
  #expect(error.why.contains("not a regular file"))
}

@Test func `a client authority file is not read if no client certificates are requested`() {
  #expect(refusal(here.settings(authority: "missing.pem", clients: .none)) == nil)
}

@Test func `a context that failed is freed once`() async {
  // In a separate process, because a double free would end it, or corrupt its memory.
  await #expect(processExitsWith: .success) {
    for _ in 0..<50 {
      _ = try? TLSContext(here.settings(authority: "garbage.pem", clients: .required))
      _ = try TLSContext(here.settings())
    }
  }
}
