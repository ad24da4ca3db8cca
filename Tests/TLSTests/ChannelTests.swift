import Certificates
import Testing

@testable import TLS

private let here = Certificates.shared
private let h2 = ["-alpn", "h2"]

extension Meeting {
  fileprivate var isMade: Bool { if case .done = handshake { true } else { false } }
  fileprivate var failure: String { if case .failed(let why) = handshake { why } else { "" } }
}

private func presenting(_ name: String) -> [String] {
  h2 + ["-cert", here.path(name + ".pem"), "-key", here.path(name + ".key")]
}

@Test func `bytes travel in both directions under TLS 1.3, until the server closes`() async throws {
  let meeting = try await Meeting.of(TLSContext(here.settings()), serverEnds: true)
  #expect(meeting.isMade, "\(meeting.handshake)")
  #expect(meeting.heard == Array("hello\n".utf8))
  #expect(meeting.peerName == .none)
  #expect(meeting.client.contains("Protocol version: TLSv1.3"))
  #expect(meeting.client.contains("Verification: OK"))
  #expect(meeting.client.contains("welcome"))
}

@Test func `a client's close_notify is a normal close, after all its bytes`() async throws {
  let meeting = try await Meeting.of(TLSContext(here.settings()))
  #expect(meeting.heard == Array("hello\n".utf8))
  #expect(meeting.end == .closed)
}

@Test func `TLS 1.2 is served with an AEAD suite, and not if only 1.3 is configured`() async throws {
  let both = try await Meeting.of(TLSContext(here.settings()), h2 + ["-tls1_2"])
  #expect(both.isMade)
  #expect(both.client.contains("Protocol version: TLSv1.2"))
  let one = try await Meeting.of(TLSContext(here.settings(tls13Only: true)), h2 + ["-tls1_2"])
  #expect(one.failure.contains("unsupported protocol"))
}

@Test(arguments: ["ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-AES128-CCM"])
func `RFC 9113 9.2.2: under TLS 1.2 no suite without GCM or ChaCha20 is served`(suite: String) async throws {
  let meeting = try await Meeting.of(TLSContext(here.settings()), h2 + ["-tls1_2", "-cipher", suite])
  #expect(meeting.failure.contains("no shared cipher"))
}

@Test(arguments: [[], ["-alpn", "http/1.1"], ["-alpn", "h2c,h3"]])
func `RFC 7301: the handshake of a client that does not offer h2 fails`(protocols: [String]) async throws {
  let meeting = try await Meeting.of(TLSContext(here.settings()), protocols)
  #expect(!meeting.failure.isEmpty)
  #expect(meeting.client.contains("no application protocol"))
}

@Test(arguments: [[], ["-alpn", "http/1.1"], ["-alpn", "h2,http/1.1"]])
func `a port of HTTP/1.1 accepts clients that offer it, or no protocol`(protocols: [String]) async throws {
  var settings = here.settings()
  settings.serves = .http1
  let meeting = try await Meeting.of(TLSContext(settings), protocols)
  #expect(meeting.isMade && meeting.heard == Array("hello\n".utf8))
}

@Test(arguments: ["h2", "h2c,h3", "http/1.0"])
func `RFC 7301: a port of HTTP/1.1 rejects the handshake of a client with only other protocols`(
  protocols: String
) async throws {
  var settings = here.settings()
  settings.serves = .http1
  let meeting = try await Meeting.of(TLSContext(settings), ["-alpn", protocols])
  #expect(!meeting.failure.isEmpty)
  #expect(meeting.client.contains("no application protocol"))
}

@Test func `RFC 7301: h2 is chosen at any place among a client's protocols`() async throws {
  let meeting = try await Meeting.of(TLSContext(here.settings()), ["-alpn", "h2c,http/1.1,h2"])
  #expect(meeting.isMade)
}

@Test(arguments: [
  ("uri", PeerName.name("uri:spiffe://corp.test/caller")), ("dns", .name("dns:only.test")), ("nameless", .unusable),
  ("impostor", .name("dns:spiffe://corp.test/caller")), ("capitals", .name("dns:only.test")),
])
func `the first URI of its certificate names a client, or otherwise the first DNS name`(
  certificate: String, name: PeerName
) async throws {
  for clients in [ClientCertificates.optional, .required] {
    let meeting = try await Meeting.of(TLSContext(here.settings(clients: clients)), presenting(certificate))
    #expect(meeting.isMade, "\(meeting.handshake)")
    #expect(meeting.peerName == name)
  }
}

@Test func `a client without a certificate has no name if one is optional, and is rejected if required`()
  async throws
{
  let optional = try await Meeting.of(TLSContext(here.settings(clients: .optional)))
  #expect(optional.isMade)
  #expect(optional.peerName == .none)
  let required = try await Meeting.of(TLSContext(here.settings(clients: .required)))
  #expect(required.failure.contains("did not return a certificate"))
}

@Test(arguments: [ClientCertificates.optional, .required])
func `a client's certificate of an unknown authority is rejected`(clients: ClientCertificates) async throws {
  let meeting = try await Meeting.of(TLSContext(here.settings(clients: clients)), presenting("stranger"))
  #expect(meeting.failure.contains("certificate verify failed"))
}

@Test func `a certificate that was not requested names no client`() async throws {
  let meeting = try await Meeting.of(TLSContext(here.settings()), presenting("uri"))
  #expect(meeting.isMade)
  #expect(meeting.peerName == .none)
}
