import Certificates
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

@Test func `a certificate with its key makes a context, whoever may come`() {
  for clients in ClientCertificates.allCases {
    #expect(refusal(here.settings(clients: clients)) == nil)
    #expect(refusal(here.settings(clients: clients, tls13Only: true)) == nil)
  }
}

@Test(arguments: ["missing.pem", "garbage.pem", "empty.pem", "server.key"])
func `a certificate file that cannot be used is named with its setting`(file: String) throws {
  let error = try #require(refusal(here.settings(certificate: file)))
  #expect(error.setting == "tls.certificate_file")
  #expect(error.why.contains(here.path(file)))
  #expect(error.description == "tls.certificate_file: \(error.why)")
}

@Test(arguments: ["missing.key", "garbage.pem", "empty.pem", "server.pem"])
func `a key file that cannot be used is named with its setting`(file: String) throws {
  let error = try #require(refusal(here.settings(key: file)))
  #expect(error.setting == "tls.key_file")
  #expect(error.why.contains(here.path(file)))
}

@Test(arguments: ["dns.key", "other-kind.key"])
func `a key that does not belong to the certificate is named so`(key: String) throws {
  let error = try #require(refusal(here.settings(key: key)))
  #expect(error.setting == "tls.key_file")
  #expect(error.why.contains("does not belong to the certificate"))
}

@Test(arguments: ["missing.pem", "garbage.pem", "empty.pem"], [ClientCertificates.optional, .required])
func `a client authority file that cannot be used is named with its setting`(
  file: String, clients: ClientCertificates
) throws {
  let error = try #require(refusal(here.settings(authority: file, clients: clients)))
  #expect(error.setting == "tls.client_ca_file")
  #expect(error.why.contains(here.path(file)))
}

@Test func `a client authority file is not looked at where no client certificates are wanted`() {
  #expect(refusal(here.settings(authority: "missing.pem", clients: .none)) == nil)
}

@Test func `a context that failed is let go once`() async {
  // In a process of its own: freeing twice would end it, or spoil whatever comes after.
  await #expect(processExitsWith: .success) {
    for _ in 0..<50 {
      _ = try? TLSContext(here.settings(authority: "garbage.pem", clients: .required))
      _ = try TLSContext(here.settings())
    }
  }
}
