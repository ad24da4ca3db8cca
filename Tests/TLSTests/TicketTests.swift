import Certificates
import Reactor
import Testing

@testable import TLS

private let here = Certificates.shared

/// A client that keeps its last session in a file, as a stock client does in memory.
private struct Client {
  private let file = here.path("session-\(UInt64.random(in: 0 ... .max)).pem")
  var options: [String] = ["-tls1_3"]
  private(set) var hasSession = false

  init(_ options: [String] = ["-tls1_3"]) { self.options = options }

  /// Whether the handshake resumed the last session. Keeps the new ticket for the next handshake.
  mutating func resumes(_ context: TLSContext) async throws -> Bool {
    let session = hasSession ? ["-sess_in", file] : []
    let meeting = try await Meeting.of(
      context, ["-alpn", "h2"] + options + session + ["-sess_out", file], serverEnds: true)
    try #require(meeting.handshake == .done(1), "\(meeting.handshake) \(meeting.client)")
    hasSession = true
    return meeting.isResumed
  }
}

private func context(
  _ keys: TicketKeys, authority: String = "authority.pem", clients: ClientCertificates = .none,
  certificate: String = "server", lifetimeSeconds: Int = 3_600
) throws -> TLSContext {
  var settings = here.settings(
    certificate: certificate + ".pem", key: certificate + ".key", authority: authority, clients: clients)
  settings.limits.ticketLifetimeSeconds = lifetimeSeconds
  return try TLSContext(settings, ticketKeys: keys, wallMillis: wallMillis())
}

private let certified = ["-cert", here.path("uri.pem"), "-key", here.path("uri.key")]
private let day: Int64 = 86_400_000

@Test(arguments: ["-tls1_2", "-tls1_3"])
func `a ticket of one context resumes at the next, which has another certificate`(version: String) async throws {
  let keys = try TicketKeys(nowMillis: 0)
  var client = Client([version])
  #expect(try await client.resumes(context(keys)) == false)
  #expect(try await client.resumes(context(keys, certificate: "second")))
  #expect(try await client.resumes(context(keys)))
}

@Test func `a ticket of other keys is ignored, and the handshake is a full one`() async throws {
  var client = Client()
  #expect(try await client.resumes(context(TicketKeys(nowMillis: 0))) == false)
  #expect(try await client.resumes(context(TicketKeys(nowMillis: 0))) == false)
}

@Test(arguments: ["-tls1_2", "-tls1_3"])
func `a key opens its tickets for one rotation more, and not for two`(version: String) async throws {
  let keys = try TicketKeys(nowMillis: 0)
  let context = try context(keys)
  var (early, late) = (Client([version]), Client([version]))
  #expect(try await early.resumes(context) == false)
  #expect(try await late.resumes(context) == false)
  keys.rotate(ifOlderThan: day, nowMillis: day)
  #expect(try await early.resumes(context), "by the generation before")
  keys.rotate(ifOlderThan: day, nowMillis: 2 * day)
  #expect(try await late.resumes(context) == false, "its key is gone")
  // With TLS 1.2, s_client does not keep the ticket of a resumption.
  guard version == "-tls1_3" else { return }
  #expect(try await early.resumes(context), "its ticket was renewed under the second key")
}

@Test func `a key is not replaced before its time`() async throws {
  let keys = try TicketKeys(nowMillis: 5)
  let context = try context(keys)
  var client = Client()
  #expect(try await client.resumes(context) == false)
  for moment in [5, 6, day, day + 4] { keys.rotate(ifOlderThan: day, nowMillis: moment) }
  keys.rotate(ifOlderThan: day, nowMillis: day + 5)
  #expect(try await client.resumes(context), "one rotation for any number of requests")
}

@Test func `renewed tickets expire with the first: a client cannot resume indefinitely`() async throws {
  let lifetimeSeconds = 4
  let context = try context(TicketKeys(nowMillis: 0), lifetimeSeconds: lifetimeSeconds)
  var client = Client()
  let begun = monotonicMillis()
  #expect(try await client.resumes(context) == false)
  #expect(try await client.resumes(context))
  while try await client.resumes(context) {
    try #require(monotonicMillis() - begun < Int64(lifetimeSeconds + 20) * 1_000)
    try await Task.sleep(nanoseconds: 100_000_000)
  }
}

@Test(arguments: [ClientCertificates.optional, .required], ["-tls1_2", "-tls1_3"])
func `a session cannot resume with other client authorities or another certificate mode`(
  clients: ClientCertificates, version: String
) async throws {
  let keys = try TicketKeys(nowMillis: 0)
  var client = Client([version] + certified)
  let (here, there) = (clients, clients == .optional ? ClientCertificates.required : .optional)
  #expect(try await client.resumes(context(keys, clients: here)) == false)
  #expect(try await client.resumes(context(keys, clients: here)))
  #expect(try await client.resumes(context(keys, authority: "two-authorities.pem", clients: here)) == false)
  #expect(try await client.resumes(context(keys, authority: "two-authorities.pem", clients: here)))
  #expect(try await client.resumes(context(keys, authority: "two-authorities.pem", clients: there)) == false)
}
