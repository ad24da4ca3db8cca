internal import COpenSSL

/// What a step on a channel came to. A read can want to write and the reverse (key updates), so both are always heeded.
package enum ChannelStep: Hashable, Sendable {
  /// This many bytes were moved (for a handshake: it is complete).
  case done(Int)
  case wantRead
  case wantWrite
  /// The peer is gone, politely or not.
  case closed
  /// The connection cannot be used any more; the text is for the log.
  case failed(String)
  /// The peer changes its keys as nobody needs to.
  case tooManyKeyUpdates
}

/// The server's end of one TLS connection on a non-blocking socket, which it does not own.
@safe package final class Channel {
  private let ssl: OpaquePointer
  /// Another may be current by now, but libssl goes on asking this one's ticket keys.
  private let context: TLSContext
  private var broken = false

  package init?(_ context: TLSContext, descriptor: Int32) {
    guard let ssl = unsafe SSL_new(context.handle) else { return nil }
    unsafe self.ssl = ssl
    self.context = context
    guard unsafe lk_tls_attach(ssl, descriptor) == 1 else { return nil }
    unsafe SSL_set_accept_state(ssl)
  }

  deinit { unsafe SSL_free(ssl) }

  package func handshake() -> ChannelStep { step(unsafe lk_tls_accept(ssl)) }

  /// Reads at most `buffer.count` decrypted bytes.
  package func read(into buffer: UnsafeMutableRawBufferPointer) -> ChannelStep {
    step(unsafe lk_tls_read(ssl, buffer.baseAddress, Int32(clamping: buffer.count)))
  }

  /// Writes a prefix of `bytes`; the rest is offered again later, possibly from elsewhere in memory.
  package func write(_ bytes: UnsafeRawBufferPointer) -> ChannelStep {
    step(unsafe lk_tls_write(ssl, bytes.baseAddress, Int32(clamping: bytes.count)))
  }

  /// Decrypted or still sealed bytes wait inside libssl, where epoll cannot see them (read-ahead is on, so SSL_pending
  /// alone would not tell).
  package var hasPending: Bool { unsafe SSL_has_pending(ssl) == 1 }

  /// The handshake was spared its signatures by a ticket of an earlier one.
  package var isResumed: Bool { unsafe SSL_session_reused(ssl) == 1 }

  package var peerName: PeerName { unsafe PeerName { text, count in unsafe lk_tls_peer_name(ssl, text, count) } }

  /// Tells the peer that no more comes. After a failure libssl must not be asked again.
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
      return .failed(describe(UInt(result.error)))
    }
  }
}
