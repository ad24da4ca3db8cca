internal import COpenSSL

/// The authorities that a client trusts, and the certificate that it presents.
package struct ClientTLSSettings: Sendable {
  /// PEM file. Empty: the authorities that the system trusts.
  package var authorityFile: String
  /// PEM file of the client's certificate; `keyFile` holds its key. Empty: the client presents no certificate.
  package var certificateFile: String
  package var keyFile: String
  package var tls13Only: Bool

  package init(
    authorityFile: String = "", certificateFile: String = "", keyFile: String = "", tls13Only: Bool = false
  ) {
    self.authorityFile = authorityFile
    self.certificateFile = certificateFile
    self.keyFile = keyFile
    self.tls13Only = tls13Only
  }
}

/// The name that the server's certificate must contain.
package struct ServerName: Hashable, Sendable {
  package var text: String
  /// Whether the text is an IPv4 or IPv6 literal. The certificate must contain it as an IP address. The client never
  /// sends it in SNI (RFC 6066 3).
  package var isAddress: Bool

  package init(_ text: String, isAddress: Bool) {
    self.text = text
    self.isAddress = isAddress
  }
}

/// The client-side counterpart of `TLSContext`. Create one per configuration.
@safe package final class ClientTLSContext: Sendable {
  nonisolated(unsafe) let handle: OpaquePointer

  /// Throws a `TLSError` whose setting is `authority`, `certificate`, `key` or `tls`.
  package init(_ settings: ClientTLSSettings) throws(TLSError) {
    guard let context = unsafe SSL_CTX_new(TLS_client_method()) else {
      throw TLSError(setting: "tls", why: "libssl cannot create a context")
    }
    // From here on `deinit` frees the context, even if the next line throws.
    unsafe handle = context
    try unsafe ClientTLSContext.configure(context, settings)
  }

  deinit { unsafe SSL_CTX_free(handle) }

  private static func configure(_ context: OpaquePointer, _ settings: ClientTLSSettings) throws(TLSError) {
    let step = unsafe lk_tls_configure_client(context, settings.tls13Only ? 1 : 0)
    guard step == 0 else { throw TLSError(setting: "tls", why: "configuration step \(step) failed: \(lastError())") }
    guard unsafe lk_tls_trust(context, settings.authorityFile) == 1 else {
      throw TLSError(setting: "authority", why: "\(settings.authorityFile) cannot be used: \(lastError())")
    }
    guard !settings.certificateFile.isEmpty else { return }
    let chain = try PEMFile(settings.certificateFile, of: "certificate", TLSLimits())
    let key = try PEMFile(settings.keyFile, of: "key", TLSLimits())
    switch UInt32(unsafe lk_tls_use_client_pair(context, chain.content, key.content)) {
    case LK_TLS_SOUND.rawValue: return
    case LK_TLS_ENCRYPTED_KEY.rawValue:
      throw TLSError(
        setting: "key", why: "\(settings.keyFile) is encrypted; use a key without a passphrase")
    case LK_TLS_KEY_OF_ANOTHER.rawValue:
      throw TLSError(setting: "key", why: "the key does not belong to the certificate")
    case LK_TLS_UNREADABLE_KEY.rawValue:
      throw TLSError(setting: "key", why: "\(settings.keyFile) cannot be used: \(lastError())")
    default: throw TLSError(setting: "certificate", why: "\(settings.certificateFile) cannot be used: \(lastError())")
    }
  }
}

/// A session ticket from a server. A later handshake with it needs no signature on either side.
@safe package final class SessionTicket {
  let handle: OpaquePointer

  init(_ handle: OpaquePointer) { unsafe self.handle = handle }

  deinit { unsafe SSL_SESSION_free(handle) }
}
