import CCurl
import Reactor

/// The fetches of one thread: a libcurl multi handle in the event loop of that thread.
///
/// libcurl reports the sockets and the time that it waits for, and `Poll` watches them. The thread watches `descriptor`
/// and calls `turn` when it is readable. Nothing here blocks: libcurl resolves names on its own threads, which report
/// their end through a socket. Create, run and close a driver on one thread, in a process that ignores SIGPIPE.
@safe package final class FetchDriver {
  private let fetcher: CurlFetcher
  private let inbox: CommandQueue<Exchange>
  private let poll: Poll
  private let multi: UnsafeMutableRawPointer
  /// Transfers by the address of their easy handle, by which libcurl identifies a finished transfer.
  private var active: [UInt: Transfer] = [:]

  init?(_ fetcher: CurlFetcher, _ inbox: CommandQueue<Exchange>) {
    guard let poll = try? Poll(inbox), let multi = unsafe curl_multi_init() else { return nil }
    self.fetcher = fetcher
    self.inbox = inbox
    self.poll = poll
    unsafe self.multi = multi
    inbox.adoptCurrentThread()
    guard configure() else { return nil }
  }

  deinit {
    close()
    unsafe curl_multi_cleanup(multi)
  }

  private func configure() -> Bool {
    // Unretained: the multi handle is released before `poll`.
    let context = unsafe Unmanaged.passUnretained(poll).toOpaque()
    let connectionsMax = fetcher.settings.limits.connectionsKeptMax
    return unsafe latchkey_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, connectionsMax) == CURLM_OK
      && latchkey_curl_multi_set_callbacks(
        multi, context,
        { _, socket, wish, context, _ in
          unsafe FetchDriver.poll(context).watch(socket, asRequested: wish)
          return 0
        },
        { _, millis, context in
          // Negative: libcurl has no deadline.
          unsafe FetchDriver.poll(context).setAlarm(millis: millis < 0 ? nil : Int64(millis))
          return 0
        }) == CURLM_OK
  }

  @unsafe private static func poll(_ context: UnsafeMutableRawPointer?) -> Poll {
    guard let context = unsafe context else { preconditionFailure("libcurl returned no context") }
    return unsafe Unmanaged<Poll>.fromOpaque(context).takeUnretainedValue()
  }

  /// Readable when `turn` has work to do.
  package var descriptor: Int32 { poll.descriptor }

  /// Whether no fetch is running or waiting in this driver.
  package var isIdle: Bool { active.isEmpty && inbox.count == 0 }

  /// Does all work that is possible now.
  package func turn() {
    for event in poll.take() {
      switch event {
      case .commands: for exchange in inbox.takeFromPoll() { start(exchange) }
      case .alarm: act(CURL_SOCKET_TIMEOUT, 0)
      case .socket(let ticket, let isReadable, let isWritable, let isBroken):
        let flags = (isReadable ? CURL_CSELECT_IN : 0) | (isWritable ? CURL_CSELECT_OUT : 0)
        act(curl_socket_t(truncatingIfNeeded: ticket.slot), flags | (isBroken ? CURL_CSELECT_ERR : 0))
      }
    }
    collect()
  }

  /// Ends all running fetches with `.closed` and accepts no more.
  package func close() {
    fetcher.closeInbox(inbox)
    abandon(.closed)
  }

  private func act(_ socket: curl_socket_t, _ flags: Int32) {
    var running: Int32 = 0
    if unsafe curl_multi_socket_action(multi, socket, flags, &running) != CURLM_OK {
      abandon(.unreachable("libcurl failed"))
    }
  }

  private func start(_ exchange: Exchange) {
    guard let transfer = Transfer(
      exchange, fetcher.settings, mayBePrivate: fetcher.allows(privateHost: exchange.job.target.host)),
      unsafe curl_multi_add_handle(multi, transfer.easy) == CURLM_OK
    else { return fetcher.ended(exchange, .failure(.unreachable("libcurl rejects the transfer")), .unknown) }
    unsafe active[UInt(bitPattern: transfer.easy)] = transfer
  }

  private func collect() {
    var left: Int32 = 0
    while let message = unsafe curl_multi_info_read(multi, &left) {
      // libcurl owns the message and frees it at the next call on the handle: read it first, then remove the transfer.
      guard unsafe message.pointee.msg == CURLMSG_DONE, let easy = unsafe message.pointee.easy_handle else { continue }
      let code = unsafe message.pointee.data.result
      guard let transfer = active.removeValue(forKey: UInt(bitPattern: easy)) else { continue }
      let result = transfer.result(code)
      unsafe curl_multi_remove_handle(multi, easy)
      fetcher.ended(transfer.exchange, result, transfer.end(result))
    }
  }

  private func abandon(_ reason: FetchError) {
    let abandoned = active.values
    active = [:]
    for transfer in abandoned {
      unsafe curl_multi_remove_handle(multi, transfer.easy)
      fetcher.ended(transfer.exchange, .failure(reason), .unknown)
    }
  }
}

extension Poll {
  /// Watches a socket as libcurl requests. A transfer whose socket cannot be watched ends at its time limit.
  fileprivate func watch(_ socket: curl_socket_t, asRequested wish: Int32) {
    guard wish != CURL_POLL_REMOVE else {
      try? unwatch(socket)
      return
    }
    try? watch(
      socket, Ticket(slot: UInt32(truncatingIfNeeded: socket), generation: 0),
      read: wish == CURL_POLL_IN || wish == CURL_POLL_INOUT, write: wish == CURL_POLL_OUT || wish == CURL_POLL_INOUT)
  }
}
