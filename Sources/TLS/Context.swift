// TLS: libssl on a socket.
//
// Owns: the contexts of server and client (versions, suites, ALPN, certificates, whose are believed), one channel a
// connection, and the name that a peer's certificate gives it.
// Does not own: what that name may do (Admission), the bytes inside (HTTP2), cryptography for tokens (Crypto).
// Read next: Channel.swift, ClientContext.swift.

internal import COpenSSL

/// Which client certificates a context asks for.
package enum ClientCertificates: String, Sendable, CaseIterable {
  case none
  case optional
  case required
}

package struct TLSSettings: Sendable {
  package var certificateFile: String
  package var keyFile: String
  package var clientAuthorityFile: String
  package var clientCertificates: ClientCertificates
  package var tls13Only: Bool

  package init(
    certificateFile: String, keyFile: String, clientAuthorityFile: String = "",
    clientCertificates: ClientCertificates = .none, tls13Only: Bool = false
  ) {
    self.certificateFile = certificateFile
    self.keyFile = keyFile
    self.clientAuthorityFile = clientAuthorityFile
    self.clientCertificates = clientCertificates
    self.tls13Only = tls13Only
  }
}

/// Why a context could not be made; names the setting at fault.
package struct TLSError: Error, Hashable, CustomStringConvertible {
  package var setting: String
  package var why: String
  package var description: String { "\(setting): \(why)" }
}

/// One per configuration, never per connection: making a context is slow and takes locks in OpenSSL 3.
@safe package final class TLSContext: Sendable {
  nonisolated(unsafe) let handle: OpaquePointer

  package init(_ settings: TLSSettings) throws(TLSError) {
    guard let context = unsafe SSL_CTX_new(TLS_server_method()) else {
      throw TLSError(setting: "tls", why: "libssl gives no context")
    }
    // From here on `deinit` frees it, also where the next line throws.
    unsafe handle = context
    try unsafe TLSContext.configure(context, settings)
  }

  deinit { unsafe SSL_CTX_free(handle) }

  private static func configure(_ context: OpaquePointer, _ settings: TLSSettings) throws(TLSError) {
    let step = unsafe lk_tls_configure(context, settings.tls13Only ? 1 : 0)
    guard step == 0 else { throw TLSError(setting: "tls", why: "step \(step) of the context failed: \(lastError())") }
    let files = [("tls.certificate_file", settings.certificateFile), ("tls.key_file", settings.keyFile)]
    let failed = unsafe lk_tls_use_pair(context, settings.certificateFile, settings.keyFile)
    switch failed {
    case 0: break
    case 3: throw TLSError(setting: "tls.key_file", why: "the key does not belong to the certificate")
    default:
      let (setting, path) = files[Int(failed) - 1]
      throw TLSError(setting: setting, why: "\(path) cannot be used: \(lastError())")
    }
    // Without a session id context a resumed session would be taken for one that proved a certificate to another
    // configuration; with client certificates libssl refuses to resume at all.
    let identity = Array((settings.clientAuthorityFile + settings.clientCertificates.rawValue).utf8).suffix(32)
    unsafe identity.withUnsafeBufferPointer { bytes in
      _ = unsafe SSL_CTX_set_session_id_context(context, bytes.baseAddress, UInt32(bytes.count))
    }
    guard settings.clientCertificates != .none else { return }
    let required: Int32 = settings.clientCertificates == .required ? 1 : 0
    guard unsafe lk_tls_verify_clients(context, settings.clientAuthorityFile, required) == 0 else {
      throw TLSError(
        setting: "tls.client_ca_file", why: "\(settings.clientAuthorityFile) cannot be used: \(lastError())")
    }
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
