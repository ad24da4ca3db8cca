internal import COpenSSL
internal import Synchronization

/// The keys that encrypt session tickets. They outlive contexts: with separate keys per context, a new certificate
/// would force full handshakes on all clients at the same time.
@safe final class TicketKeys: Sendable {
  nonisolated(unsafe) let handle: UnsafeMutablePointer<lk_tls_tickets>
  private let madeMillis: Mutex<Int64>

  /// - Parameter nowMillis: Time of a monotonic clock, the same as in `rotate`.
  init(nowMillis: Int64) throws(TLSError) {
    guard let handle = unsafe lk_tls_tickets_new() else {
      throw TLSError(setting: "tls", why: "libssl cannot generate ticket keys: \(describe(ERR_peek_last_error()))")
    }
    unsafe self.handle = handle
    madeMillis = Mutex(nowMillis)
  }

  deinit { unsafe lk_tls_tickets_free(handle) }

  /// Creates a new key if the newest has encrypted tickets for `ageMillis`. The previous key then only decrypts
  /// tickets, and the key before it is deleted.
  func rotate(ifOlderThan ageMillis: Int64, nowMillis: Int64) {
    madeMillis.withLock { made in
      guard nowMillis - made >= ageMillis, unsafe lk_tls_tickets_rotate(handle) == 1 else { return }
      made = nowMillis
    }
  }
}
