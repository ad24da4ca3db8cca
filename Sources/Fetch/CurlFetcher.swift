import CCurl
import Glibc
import Synchronization

/// HTTPS over one libcurl multi handle on one thread of its own.
///
/// Callers see neither the thread nor libcurl, so that the same surface can be driven from a reactor's epoll instead. A
/// fetch ends within its time limit whatever the server does, so the caller's cancellation is not looked at.
package final class CurlFetcher: HTTPSFetching {
  private let settings: FetchSettings
  private let inbox: Inbox
  private let thread: Mutex<pthread_t?>

  package init(_ settings: FetchSettings = FetchSettings()) throws(FetchError) {
    guard CurlFetcher.libraryReady, let driver = Driver(settings) else { throw .unreachable("libcurl failed to start") }
    self.settings = settings
    inbox = driver.inbox
    var started = pthread_t()
    let context = unsafe Unmanaged.passRetained(driver)
    let code = unsafe pthread_create(
      &started, nil,
      { context in
        if let context = unsafe context { unsafe Unmanaged<Driver>.fromOpaque(context).takeRetainedValue().run() }
        return nil
      }, context.toOpaque())
    guard code == 0 else {
      unsafe context.release()
      throw .unreachable("no thread")
    }
    thread = Mutex(started)
  }

  deinit { close() }

  package func get(_ url: String) async throws -> FetchedBody {
    let target = try Target(url)
    let deadline = ContinuousClock.now + .milliseconds(settings.totalTimeMillis)
    return try await withCheckedThrowingContinuation { continuation in
      let request = Request(target: target, deadline: deadline, continuation: continuation)
      if let refusal = inbox.put(request, waitingMax: settings.waitingMax) { continuation.resume(throwing: refusal) }
    }
  }

  /// Fetches that wait for their turn.
  package var waitingCount: Int { inbox.waitingCount }

  /// Ends what is under way with `.closed` and returns when the thread is gone. Later fetches are `.closed` too.
  package func close() {
    inbox.close()
    let started = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    if let started { pthread_join(started, nil) }
  }

  private static let libraryReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}

/// A URL that may be fetched, with the host that limits and rules are counted by.
struct Target: Hashable, Sendable {
  let url: String
  let host: String

  init(_ url: String) throws(FetchError) {
    // A NUL would cut the C string, and libcurl would see another URL than the one that was checked.
    guard url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let parts = unsafe curl_url() else { throw .refusedURL }
    defer { unsafe curl_url_cleanup(parts) }
    let code = unsafe curl_url_set(parts, CURLUPART_URL, url, UInt32(CURLU_DISALLOW_USER))
    guard code == CURLUE_OK, unsafe Target.part(CURLUPART_SCHEME, of: parts) == "https",
      let host = unsafe Target.part(CURLUPART_HOST, of: parts), !host.isEmpty
    else { throw .refusedURL }
    self.url = url
    self.host = host.lowercased()
  }

  @unsafe private static func part(_ part: CURLUPart, of parts: OpaquePointer) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard unsafe curl_url_get(parts, part, &text, 0) == CURLUE_OK, let text = unsafe text else { return nil }
    defer { unsafe curl_free(text) }
    return unsafe String(cString: text)
  }
}

/// One caller waiting for one document.
struct Request: Sendable {
  let target: Target
  let deadline: ContinuousClock.Instant
  let continuation: CheckedContinuation<FetchedBody, any Error>
}

/// How requests cross to the driver's thread: the one object both sides hold.
final class Inbox: Sendable {
  @safe private struct State {
    var requests: [Request] = []
    /// What the driver holds back because its host is busy; counted here so that the whole wait is bounded.
    var heldBack = 0
    var closing = false
    /// Woken under the lock only, and removed before it is freed: a wake-up never meets a freed handle.
    var multi: UnsafeMutableRawPointer?
  }
  private let state: Mutex<State>

  init(waking multi: sending UnsafeMutableRawPointer) { unsafe state = Mutex(State(multi: multi)) }

  /// nil: the driver will answer. Else it is for the caller to answer with the error.
  func put(_ request: Request, waitingMax: Int) -> FetchError? {
    state.withLock { state in
      if state.closing { return .closed }
      if state.requests.count + state.heldBack >= waitingMax { return .overloaded }
      state.requests.append(request)
      if let multi = unsafe state.multi { unsafe curl_multi_wakeup(multi) }
      return nil
    }
  }

  func close() {
    state.withLock { state in
      state.closing = true
      if let multi = unsafe state.multi { unsafe curl_multi_wakeup(multi) }
    }
  }

  /// What is taken counts as held back until the driver says how much of it could start.
  func take() -> (requests: [Request], closing: Bool) {
    state.withLock { state in
      state.heldBack += state.requests.count
      defer { state.requests = [] }
      return (state.requests, state.closing)
    }
  }

  var waitingCount: Int { state.withLock { $0.requests.count + $0.heldBack } }

  func report(heldBack: Int) { state.withLock { $0.heldBack = heldBack } }

  /// The driver's last word before the handle is freed.
  func forgetHandle() { state.withLock { state in unsafe state.multi = nil } }
}
