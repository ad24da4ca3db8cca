// TLS: libssl on a socket.
//
// Owns: the contexts of server and client (versions, cipher suites, ALPN, certificates, trusted authorities), the
// replacement of the server context when its files change, session ticket keys, one channel per connection, and the
// name in a peer's certificate.
// Does not own: the times of checks for changed files (Server), the permissions of a name (Callers), the bytes inside
// the connection (HTTP2), cryptography for tokens (Crypto).
// Read next: Channel.swift, then CurrentContext.swift; ClientContext.swift for the client side.

internal import COpenSSL

/// Whether a context requests or requires a client certificate.
package enum ClientCertificates: String, Sendable, CaseIterable {
  case none
  case optional
  case required
}

/// The application protocol on a TLS connection.
package enum ServedProtocol: Sendable {
  /// The client must offer it through ALPN.
  case http2
  /// Used if the client offers it through ALPN, or sends no ALPN.
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
  /// Maximum time from a full handshake to the last resumption based on it. Renewed tickets do not extend it.
  package var ticketLifetimeSeconds = 3_600
  /// Time for which a key encrypts tickets. It then decrypts tickets for the same time again.
  package var ticketKeyMillis: Int64 = 86_400_000
  /// Maximum size of a certificate, key or authority file.
  package var fileBytesMax = 1 << 20

  package init() {}
}

/// An error that prevented the creation of a context, with the setting at fault.
package struct TLSError: Error, Hashable, CustomStringConvertible {
  package var setting: String
  package var why: String
  /// Whether the same files may become usable later.
  package var isPassing = false
  package var description: String { "\(setting): \(why)" }
}

/// A server context. Create one per configuration, never per connection: creation is slow and takes locks in OpenSSL 3.
@safe package final class TLSContext: Sendable {
  nonisolated(unsafe) let handle: OpaquePointer
  private let ticketKeys: TicketKeys
  let certificate: LeafCertificate
  /// Earliest expiry of the authorities of client certificates; nil without them.
  let clientAuthorityNotAfterMillis: Int64?

  init(_ settings: TLSSettings, ticketKeys: TicketKeys, wallMillis: Int64) throws(TLSError) {
    guard let context = unsafe SSL_CTX_new(TLS_server_method()) else {
      throw TLSError(setting: "tls", why: "libssl cannot create a context")
    }
    unsafe handle = context
    self.ticketKeys = ticketKeys
    do throws(TLSError) {
      (certificate, clientAuthorityNotAfterMillis) = try unsafe TLSContext.configure(
        context, settings, ticketKeys, wallMillis / 1_000)
    } catch {
      // `deinit` does not run for a partially initialized object.
      unsafe SSL_CTX_free(context)
      throw error
    }
  }

  deinit { unsafe SSL_CTX_free(handle) }

  private static func configure(
    _ context: OpaquePointer, _ settings: TLSSettings, _ ticketKeys: TicketKeys, _ now: Int64
  ) throws(TLSError) -> (LeafCertificate, Int64?) {
    let step = unsafe lk_tls_configure(
      context, settings.tls13Only ? 1 : 0, settings.serves == .http1 ? 1 : 0)
    guard step == 0 else { throw TLSError(setting: "tls", why: "configuration step \(step) failed: \(lastError())") }
    guard unsafe lk_tls_use_tickets(context, ticketKeys.handle, settings.limits.ticketLifetimeSeconds) == 1 else {
      throw TLSError(setting: "tls", why: "libssl rejects the ticket keys: \(lastError())")
    }
    let leaf = try unsafe usePair(context, settings, now)
    return (leaf, try unsafe trustClients(context, settings))
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

  /// Returns the earliest expiry of the trusted authorities; nil without them.
  private static func trustClients(
    _ context: OpaquePointer, _ settings: TLSSettings
  ) throws(TLSError) -> Int64? {
    let required: Int32 = settings.clientCertificates == .required ? 1 : 0
    guard settings.clientCertificates != .none else {
      let nobody = unsafe lk_tls_file(bytes: nil, count: 0, error: 0)
      try bind(unsafe lk_tls_bind_sessions(context, nobody, 0))
      return nil
    }
    let file = try PEMFile(settings.clientAuthorityFile, of: "tls.client_ca_file", settings.limits)
    guard unsafe lk_tls_verify_clients(context, file.content, required) == 1 else {
      throw TLSError(
        setting: "tls.client_ca_file", why: "\(settings.clientAuthorityFile) cannot be used: \(lastError())")
    }
    try bind(unsafe lk_tls_bind_sessions(context, file.content, 1 + required))
    return unsafe lk_tls_first_expiry(file.content) * 1_000
  }

  private static func bind(_ result: Int32) throws(TLSError) {
    guard result == 1 else { throw TLSError(setting: "tls", why: "libssl cannot bind sessions: \(lastError())") }
  }

}

/// Returns OpenSSL's text for the most recent error.
func lastError() -> String { describe(ERR_peek_last_error()) }

/// Returns OpenSSL's text for an error from its queue.
func describe(_ error: UInt) -> String {
  guard error != 0 else { return "no further details" }
  return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
    unsafe ERR_error_string_n(error, text.baseAddress, text.count)
    return unsafe String(cString: text.baseAddress!)
  }
}
