internal import COpenSSL

/// The result of a step on a channel. A read can require a write and the reverse (key updates), so handle both cases
/// after every step.
package enum ChannelStep: Hashable, Sendable {
  /// The number of bytes moved. For a handshake: it is complete.
  case done(Int)
  case wantRead
  case wantWrite
  /// The peer has closed the connection, with close_notify or without.
  case closed
  /// The connection is unusable. The text is for the log.
  case failed(String)
  /// The peer sent more key updates than the limit.
  case tooManyKeyUpdates
}

/// One end of a TLS connection on a non-blocking socket. The channel does not own the socket.
@safe package final class Channel {
  private let ssl: OpaquePointer
  /// Keeps the context of this connection alive. A newer one may be current, but libssl uses this one's ticket keys.
  private let context: AnyObject
  private var broken = false
  /// Why the last step failed, or nil.
  package private(set) var fault: HandshakeFault?

  package init?(_ context: TLSContext, descriptor: Int32) {
    guard let ssl = unsafe SSL_new(context.handle) else { return nil }
    unsafe self.ssl = ssl
    self.context = context
    guard unsafe lk_tls_attach(ssl, descriptor) == 1 else { return nil }
    unsafe SSL_set_accept_state(ssl)
  }

  /// Creates the client side.
  /// - Parameter ticket: A ticket from an earlier connection with the same context and server name.
  package init?(_ context: ClientTLSContext, descriptor: Int32, serverName: ServerName, ticket: SessionTicket? = nil) {
    guard let ssl = unsafe SSL_new(context.handle) else { return nil }
    unsafe self.ssl = ssl
    self.context = context
    guard unsafe lk_tls_attach(ssl, descriptor) == 1,
      unsafe lk_tls_expect(ssl, serverName.text, serverName.isAddress ? 1 : 0) == 1
    else { return nil }
    if let ticket { unsafe SSL_set_session(ssl, ticket.handle) }
  }

  deinit { unsafe SSL_free(ssl) }

  package func handshake() -> ChannelStep { step(unsafe lk_tls_handshake(ssl)) }

  /// Why the peer's certificate was rejected, after a failed handshake.
  package var refusal: String? { unsafe lk_tls_refusal(ssl).map { unsafe String(cString: $0) } }

  /// Whether the server has chosen HTTP/2. Valid on the client side after the handshake.
  package var speaksHTTP2: Bool { unsafe lk_tls_agreed_on_h2(ssl) == 1 }

  /// The session ticket for a later connection. The server sends it after the handshake, so it is available after a
  /// read.
  package var ticket: SessionTicket? { unsafe lk_tls_ticket(ssl).map { unsafe SessionTicket($0) } }

  /// Reads at most `buffer.count` decrypted bytes.
  package func read(into buffer: UnsafeMutableRawBufferPointer) -> ChannelStep {
    step(unsafe lk_tls_read(ssl, buffer.baseAddress, Int32(clamping: buffer.count)))
  }

  /// Appends at most `bytesMax` decrypted bytes.
  @safe package func read(into bytes: inout [UInt8], bytesMax: Int) -> ChannelStep {
    let before = bytes.count
    bytes += [UInt8](repeating: 0, count: bytesMax)
    let step = unsafe bytes.withUnsafeMutableBytes {
      unsafe read(into: UnsafeMutableRawBufferPointer(rebasing: $0[before...]))
    }
    var count = 0
    if case .done(let moved) = step { count = moved }
    bytes.removeLast(bytesMax - count)
    return step
  }

  /// Writes a prefix of `bytes`, which must not be empty. The caller offers the rest again later, possibly at another
  /// place in memory.
  package func write(_ bytes: ArraySlice<UInt8>) -> ChannelStep {
    step(unsafe bytes.withUnsafeBytes { unsafe lk_tls_write(ssl, $0.baseAddress, Int32(clamping: $0.count)) })
  }

  /// Whether libssl holds decrypted or encrypted bytes, which epoll cannot see. Read-ahead is on, so SSL_pending alone
  /// does not report all of them.
  package var hasPending: Bool { unsafe SSL_has_pending(ssl) == 1 }

  /// Whether the handshake resumed an earlier session and needed no signatures.
  package var isResumed: Bool { unsafe SSL_session_reused(ssl) == 1 }

  package var peerName: PeerName { unsafe PeerName { text, count in unsafe lk_tls_peer_name(ssl, text, count) } }

  /// Sends close_notify. After a failure libssl must not be called again.
  package func sayGoodbye() {
    if !broken { unsafe lk_tls_shutdown(ssl) }
  }

  private func step(_ result: lk_tls_result) -> ChannelStep {
    switch result.kind {
    case Int32(LK_TLS_DONE.rawValue): return .done(Int(result.bytes))
    case Int32(LK_TLS_WANT_READ.rawValue): return .wantRead
    case Int32(LK_TLS_WANT_WRITE.rawValue): return .wantWrite
    case Int32(LK_TLS_TOO_MANY_KEY_UPDATES.rawValue): return .tooManyKeyUpdates
    case Int32(LK_TLS_CLOSED.rawValue):
      broken = true
      return .closed
    default:
      broken = true
      fault = HandshakeFault(UInt(result.error))
      return .failed(describe(UInt(result.error)))
    }
  }
}
