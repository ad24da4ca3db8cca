// TLS: libssl on a socket.
//
// Owns: the contexts of server and client (versions, suites, ALPN, certificates, whose are believed), the exchange of
// the server's when its files change, the keys of session tickets, one channel a connection, and the name that a peer's
// certificate gives it.
// Does not own: when files are looked at (Server), what a name may do (Admission), the bytes inside (HTTP2),
// cryptography for tokens (Crypto).
// Read next: Channel.swift, then CurrentContext.swift; ClientContext.swift for the other end.

internal import COpenSSL

/// Which client certificates a context asks for.
package enum ClientCertificates: String, Sendable, CaseIterable {
  case none
  case optional
  case required
}

/// What is spoken inside of a connection.
package enum ServedProtocol: Sendable {
  /// Demanded by ALPN.
  case http2
  /// Taken where a client offers it, or offers nothing.
  case http1
}

package struct TLSSettings: Sendable {
  package var certificateFile: String
  package var keyFile: String
  package var clientAuthorityFile: String
  package var clientCertificates: ClientCertificates
  package var tls13Only: Bool
  package var limits: TLSLimits
  package var serves = ServedProtocol.http2

  package init(
    certificateFile: String, keyFile: String, clientAuthorityFile: String = "",
    clientCertificates: ClientCertificates = .none, tls13Only: Bool = false, limits: TLSLimits = TLSLimits()
  ) {
    self.certificateFile = certificateFile
    self.keyFile = keyFile
    self.clientAuthorityFile = clientAuthorityFile
    self.clientCertificates = clientCertificates
    self.tls13Only = tls13Only
    self.limits = limits
  }
}

package struct TLSLimits: Sendable {
  /// From a full handshake to the last resumption that comes of it, however often its ticket is renewed.
  package var ticketLifetimeSeconds = 3_600
  /// How long one key seals tickets; for as long again it opens them.
  package var ticketKeyMillis: Int64 = 86_400_000
  /// Of a certificate, key or authority file.
  package var fileBytesMax = 1 << 20

  package init() {}
}

/// Why a context could not be made; names the setting at fault.
package struct TLSError: Error, Hashable, CustomStringConvertible {
  package var setting: String
  package var why: String
  /// The same files may do later.
  package var isPassing = false
  package var description: String { "\(setting): \(why)" }
}

/// One per configuration, never per connection: making a context is slow and takes locks in OpenSSL 3.
@safe package final class TLSContext: Sendable {
  nonisolated(unsafe) let handle: OpaquePointer
  private let ticketKeys: TicketKeys
  let certificate: LeafCertificate

  init(_ settings: TLSSettings, ticketKeys: TicketKeys, wallMillis: Int64) throws(TLSError) {
    guard let context = unsafe SSL_CTX_new(TLS_server_method()) else {
      throw TLSError(setting: "tls", why: "libssl gives no context")
    }
    unsafe handle = context
    self.ticketKeys = ticketKeys
    do throws(TLSError) {
      certificate = try unsafe TLSContext.configure(context, settings, ticketKeys, wallMillis / 1_000)
    } catch {
      // `deinit` belongs to whole objects only.
      unsafe SSL_CTX_free(context)
      throw error
    }
  }

  deinit { unsafe SSL_CTX_free(handle) }

  private static func configure(
    _ context: OpaquePointer, _ settings: TLSSettings, _ ticketKeys: TicketKeys, _ now: Int64
  ) throws(TLSError) -> LeafCertificate {
    let step = unsafe lk_tls_configure(
      context, settings.tls13Only ? 1 : 0, settings.serves == .http1 ? 1 : 0)
    guard step == 0 else { throw TLSError(setting: "tls", why: "step \(step) of the context failed: \(lastError())") }
    guard unsafe lk_tls_use_tickets(context, ticketKeys.handle, settings.limits.ticketLifetimeSeconds) == 1 else {
      throw TLSError(setting: "tls", why: "the context takes no ticket keys: \(lastError())")
    }
    let leaf = try unsafe usePair(context, settings, now)
    try unsafe trustClients(context, settings)
    return leaf
  }

  private static func usePair(
    _ context: OpaquePointer, _ settings: TLSSettings, _ now: Int64
  ) throws(TLSError) -> LeafCertificate {
    let chain = try PEMFile(settings.certificateFile, of: "tls.certificate_file", settings.limits)
    let key = try PEMFile(settings.keyFile, of: "tls.key_file", settings.limits)
    let verdict = unsafe lk_tls_use_pair(context, chain.content, key.content, now)
    if let refusal = settings.refusal(verdict, lastError()) { throw refusal }
    return unsafe LeafCertificate(of: context, notAfterSeconds: verdict.not_after)
  }

  private static func trustClients(_ context: OpaquePointer, _ settings: TLSSettings) throws(TLSError) {
    let required: Int32 = settings.clientCertificates == .required ? 1 : 0
    guard settings.clientCertificates != .none else {
      let nobody = unsafe lk_tls_file(bytes: nil, count: 0, error: 0)
      return try bind(unsafe lk_tls_bind_sessions(context, nobody, 0))
    }
    let file = try PEMFile(settings.clientAuthorityFile, of: "tls.client_ca_file", settings.limits)
    guard unsafe lk_tls_verify_clients(context, file.content, required) == 1 else {
      throw TLSError(
        setting: "tls.client_ca_file", why: "\(settings.clientAuthorityFile) cannot be used: \(lastError())")
    }
    try bind(unsafe lk_tls_bind_sessions(context, file.content, 1 + required))
  }

  private static func bind(_ result: Int32) throws(TLSError) {
    guard result == 1 else { throw TLSError(setting: "tls", why: "sessions cannot be bound: \(lastError())") }
  }

}

/// OpenSSL's text for what failed last.
func lastError() -> String { describe(ERR_peek_last_error()) }

/// OpenSSL's text for an error of its queue.
func describe(_ error: UInt) -> String {
  guard error != 0 else { return "no further word" }
  return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
    unsafe ERR_error_string_n(error, text.baseAddress, text.count)
    return unsafe String(cString: text.baseAddress!)
  }
}
