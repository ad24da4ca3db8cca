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

/// One end of a TLS connection on a non-blocking socket, which it does not own.
@safe package final class Channel {
  private let ssl: OpaquePointer
  /// Another may be current by now, but libssl goes on asking this one's ticket keys.
  private let context: AnyObject
  private var broken = false
  /// Why the last step failed.
  package private(set) var fault: HandshakeFault?

  package init?(_ context: TLSContext, descriptor: Int32) {
    guard let ssl = unsafe SSL_new(context.handle) else { return nil }
    unsafe self.ssl = ssl
    self.context = context
    guard unsafe lk_tls_attach(ssl, descriptor) == 1 else { return nil }
    unsafe SSL_set_accept_state(ssl)
  }

  /// The client's end. `ticket` is of an earlier connection with the same context and the same name.
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

  /// Why the peer's certificate was not believed, after a handshake that failed.
  package var refusal: String? { unsafe lk_tls_refusal(ssl).map { unsafe String(cString: $0) } }

  /// After the handshake of a client: the server has chosen HTTP/2.
  package var speaksHTTP2: Bool { unsafe lk_tls_agreed_on_h2(ssl) == 1 }

  /// What a later connection can take up. The server sends it after the handshake, so it is here once something was
  /// read.
  package var ticket: SessionTicket? { unsafe lk_tls_ticket(ssl).map { unsafe SessionTicket($0) } }

  /// Reads at most `buffer.count` decrypted bytes.
  package func read(into buffer: UnsafeMutableRawBufferPointer) -> ChannelStep {
    step(unsafe lk_tls_read(ssl, buffer.baseAddress, Int32(clamping: buffer.count)))
  }

  /// Writes a prefix of `bytes`; the rest is offered again later, possibly from elsewhere in memory.
  package func write(_ bytes: UnsafeRawBufferPointer) -> ChannelStep {
    step(unsafe lk_tls_write(ssl, bytes.baseAddress, Int32(clamping: bytes.count)))
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

  /// Writes a prefix of `bytes`, which must not be empty.
  @safe package func write(_ bytes: ArraySlice<UInt8>) -> ChannelStep {
    unsafe bytes.withUnsafeBytes { unsafe write($0) }
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
      fault = HandshakeFault(UInt(result.error))
      return .failed(describe(UInt(result.error)))
    }
  }
}
