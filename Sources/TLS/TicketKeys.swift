internal import COpenSSL
internal import Synchronization

/// The keys that seal session tickets. They outlive contexts: were each to have its own, a new certificate would make
/// all clients do full handshakes at once.
@safe final class TicketKeys: Sendable {
  nonisolated(unsafe) let handle: UnsafeMutablePointer<lk_tls_tickets>
  private let madeMillis: Mutex<Int64>

  /// - Parameter nowMillis: of a clock that never goes back, here and in `rotate`.
  init(nowMillis: Int64) throws(TLSError) {
    guard let handle = unsafe lk_tls_tickets_new() else {
      throw TLSError(setting: "tls", why: "no randomness for ticket keys: \(describe(ERR_peek_last_error()))")
    }
    unsafe self.handle = handle
    madeMillis = Mutex(nowMillis)
  }

  deinit { unsafe lk_tls_tickets_free(handle) }

  /// Makes a new key where the newest has sealed for `ageMillis`; the one before it opens tickets from then on, and the
  /// one before that is gone.
  func rotate(ifOlderThan ageMillis: Int64, nowMillis: Int64) {
    madeMillis.withLock { made in
      guard nowMillis - made >= ageMillis, unsafe lk_tls_tickets_rotate(handle) == 1 else { return }
      made = nowMillis
    }
  }
}
