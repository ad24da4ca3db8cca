internal import COpenSSL

/// The reason for a failed handshake. The raw value is a metric label.
package enum HandshakeFault: String, Sendable, CaseIterable {
  /// The client sent plain HTTP, or bytes that are no TLS record.
  case notTLS = "not_tls"
  case version
  /// The peers have no cipher suite, group or signature algorithm in common.
  case parameters
  /// The client offered no protocol in ALPN, or not `h2`.
  case noH2 = "no_h2"
  /// The client's certificate was missing or not trusted.
  case clientCertificate = "client_certificate"
  /// The client sent an alert, for example because it rejects our certificate.
  case clientAlert = "client_alert"
  case other

  /// - Parameter error: An error from OpenSSL's queue.
  init(_ error: UInt) {
    self = switch ERR_GET_REASON(error) {
    case SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST, SSL_R_WRONG_VERSION_NUMBER, SSL_R_BAD_RECORD_TYPE: .notTLS
    case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_VERSION_TOO_LOW, SSL_R_UNKNOWN_PROTOCOL: .version
    case SSL_R_NO_SHARED_CIPHER, SSL_R_NO_SUITABLE_KEY_SHARE, SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS,
      SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, SSL_R_NO_SUITABLE_GROUPS: .parameters
    // SSL_R_CALLBACK_FAILED comes from our ALPN callback, which requires a supported protocol.
    case SSL_R_NO_APPLICATION_PROTOCOL, SSL_R_CALLBACK_FAILED: .noH2
    case SSL_R_CERTIFICATE_VERIFY_FAILED, SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: .clientCertificate
    // Reasons from this number on are alerts from the peer.
    case Int32(SSL_AD_REASON_OFFSET)...: .clientAlert
    default: .other
    }
  }
}
