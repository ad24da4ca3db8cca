import CCurl
import Glibc

/// Everything that the fetching thread does. Made by the fetcher, then touched by that thread alone.
@safe final class Driver {
  let inbox: Inbox
  private let settings: FetchSettings
  private let multi: UnsafeMutableRawPointer
  /// In the order they came; held back while their host is busy.
  private var waiting: [Request] = []
  /// By address of the easy handle, which is what libcurl names a finished transfer by.
  private var active: [UInt: Transfer] = [:]

  init?(_ settings: FetchSettings) {
    guard let made = unsafe curl_multi_init() else { return nil }
    // Shared with every caller for curl_multi_wakeup alone, the one call that libcurl allows from any thread.
    nonisolated(unsafe) let multi = unsafe made
    self.settings = settings
    unsafe self.multi = multi
    unsafe inbox = Inbox(waking: multi)
  }

  deinit {
    inbox.forgetHandle()
    unsafe curl_multi_cleanup(multi)
  }

  func run() {
    blockSignals()
    while true {
      let news = inbox.take()
      waiting += news.requests
      if news.closing { break }
      startWhatMay()
      inbox.report(heldBack: waiting.count)
      var running: Int32 = 0
      if unsafe curl_multi_perform(multi, &running) != CURLM_OK { abandon(.unreachable("libcurl failed")) }
      collect()
      if !waiting.isEmpty && startable() != nil { continue }
      unsafe curl_multi_poll(multi, nil, 0, pollMillis(), nil)
    }
    abandon(.closed)
    for request in waiting { request.continuation.resume(throwing: FetchError.closed) }
  }

  /// Signals are for the thread that waits for them, and writing to a closed connection is an error here, no SIGPIPE.
  private func blockSignals() {
    var all = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
  }

  /// libcurl shortens the wait to its own timers; only those held back have a deadline that it does not know.
  private func pollMillis() -> Int32 {
    guard let first = waiting.first else { return 60_000 }
    let left = first.deadline - ContinuousClock.now
    return Int32(clamping: max(1, Int(left / .milliseconds(1)) + 1))
  }

  private func startable() -> Int? {
    waiting.firstIndex { request in
      active.values.count { $0.request.target.host == request.target.host } < settings.perHostMax
    }
  }

  private func startWhatMay() {
    let now = ContinuousClock.now
    while let first = waiting.first, first.deadline <= now {
      waiting.removeFirst()
      first.continuation.resume(throwing: FetchError.timedOut)
    }
    while let index = startable() { start(waiting.remove(at: index), now: now) }
  }

  private func start(_ request: Request, now: ContinuousClock.Instant) {
    let timeMillis = max(1, Int((request.deadline - now) / .milliseconds(1)))
    guard let transfer = Transfer(request, settings, timeMillis: timeMillis),
      unsafe curl_multi_add_handle(multi, transfer.easy) == CURLM_OK
    else { return request.continuation.resume(throwing: FetchError.unreachable("libcurl refused the transfer")) }
    unsafe active[UInt(bitPattern: transfer.easy)] = transfer
  }

  private func collect() {
    var left: Int32 = 0
    while let message = unsafe curl_multi_info_read(multi, &left) {
      // The message is libcurl's and gone with the next call on the handle: read first, then remove.
      guard unsafe message.pointee.msg == CURLMSG_DONE, let easy = unsafe message.pointee.easy_handle else { continue }
      let code = unsafe message.pointee.data.result
      guard let transfer = active.removeValue(forKey: UInt(bitPattern: easy)) else { continue }
      let result = transfer.result(code)
      unsafe curl_multi_remove_handle(multi, easy)
      transfer.request.continuation.resume(with: result.mapError { $0 as any Error })
    }
  }

  private func abandon(_ reason: FetchError) {
    for transfer in active.values {
      unsafe curl_multi_remove_handle(multi, transfer.easy)
      transfer.request.continuation.resume(throwing: reason)
    }
    active = [:]
  }
}
