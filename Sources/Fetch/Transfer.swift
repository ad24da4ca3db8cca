import CCurl
import Glibc

/// One transfer: its easy handle and what libcurl's callbacks gather. The callbacks touch this object only, never the
/// driver, which is in the middle of a call on the multi handle then.
@safe final class Transfer {
  let request: Request
  let easy: UnsafeMutableRawPointer
  private let bodyBytesMax: Int
  private let mayBePrivate: Bool
  private var body: [UInt8] = []
  private var headBytes = 0
  private var overflowed = false
  private var addressRefused = false

  /// libcurl bounds a line of the head, not the head.
  private static let headBytesMax = 32 * 1024

  /// nil: libcurl refused an option, as it does where it is built without what the option needs.
  init?(_ request: Request, _ settings: FetchSettings, timeMillis: Int) {
    guard let easy = unsafe curl_easy_init() else { return nil }
    self.request = request
    unsafe self.easy = easy
    bodyBytesMax = settings.bodyBytesMax
    mayBePrivate = settings.privateHosts.contains(request.target.host)
    guard configure(settings, timeMillis: timeMillis) else { return nil }
  }

  deinit { unsafe curl_easy_cleanup(easy) }

  private func configure(_ settings: FetchSettings, timeMillis: Int) -> Bool {
    let numbers: [(CURLoption, Int)] = [
      (CURLOPT_FOLLOWLOCATION, 0),
      (CURLOPT_SSL_VERIFYPEER, 1),
      (CURLOPT_SSL_VERIFYHOST, 2),
      (CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
      (CURLOPT_TIMEOUT_MS, timeMillis),
      (CURLOPT_NOSIGNAL, 1),
      // A name server that hangs must not hold the thread: without this, removing a transfer joins its resolver.
      (CURLOPT_QUICK_EXIT, 1),
    ]
    var texts: [(CURLoption, String)] = [
      (CURLOPT_URL, request.target.url),
      (CURLOPT_PROTOCOLS_STR, "https"),
      // A proxy from the environment would hide the true address from the open-socket callback.
      (CURLOPT_PROXY, ""),
      (CURLOPT_USERAGENT, settings.userAgent),
    ]
    if let caFile = settings.caFile { texts.append((CURLOPT_CAINFO, caFile)) }
    return numbers.allSatisfy { unsafe latchkey_curl_set_long(easy, $0.0, $0.1) == CURLE_OK }
      && texts.allSatisfy { unsafe latchkey_curl_set_string(easy, $0.0, $0.1) == CURLE_OK }
      && setBodyLimit() == CURLE_OK && setCallbacks() == CURLE_OK
  }

  /// Ends a transfer that announces too much before its body is read.
  private func setBodyLimit() -> CURLcode {
    unsafe latchkey_curl_set_size(easy, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(bodyBytesMax))
  }

  private func setCallbacks() -> CURLcode {
    // Unretained: the driver holds the transfer until the handle has left the multi.
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    return unsafe latchkey_curl_set_callbacks(
      easy, context,
      { _, size, count, context in unsafe Transfer.at(context).countHead(size * count) },
      { bytes, size, count, context in
        unsafe Transfer.at(context).append(UnsafeRawBufferPointer(start: bytes, count: size * count))
      },
      { context, _, address in unsafe Transfer.at(context).openSocket(address) })
  }

  @unsafe private static func at(_ context: UnsafeMutableRawPointer?) -> Transfer {
    guard let context = unsafe context else { preconditionFailure("libcurl hands back the context it was given") }
    return unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
  }

  /// Any count but the one received ends the transfer.
  private func countHead(_ count: Int) -> Int {
    headBytes += count
    overflowed = overflowed || headBytes > Transfer.headBytesMax
    return overflowed ? 0 : count
  }

  @unsafe private func append(_ bytes: UnsafeRawBufferPointer) -> Int {
    overflowed = overflowed || body.count + bytes.count > bodyBytesMax
    guard !overflowed else { return 0 }
    unsafe body.append(contentsOf: bytes)
    return bytes.count
  }

  @unsafe private func openSocket(_ address: UnsafeMutablePointer<curl_sockaddr>?) -> curl_socket_t {
    guard let address = unsafe address else { return CURL_SOCKET_BAD }
    var bytes = [UInt8](repeating: 0, count: 16)
    let length = unsafe latchkey_curl_address(address, &bytes)
    guard mayBePrivate || AddressRule.isPublic(Array(bytes.prefix(Int(length)))) else {
      addressRefused = true
      return CURL_SOCKET_BAD
    }
    return unsafe socket(
      address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), address.pointee.protocol)
  }

  func result(_ code: CURLcode) -> Result<FetchedBody, FetchError> {
    guard code == CURLE_OK else { return .failure(failure(code)) }
    let status = unsafe latchkey_curl_status(easy)
    guard !(300..<400).contains(status) else { return .failure(.redirected) }
    let contentType = unsafe latchkey_curl_content_type(easy)
    return .success(
      FetchedBody(
        status: status, contentType: unsafe contentType.map { unsafe String(cString: $0) } ?? "",
        maxAgeSeconds: CacheControl.maxAgeSeconds(cacheControl()), bytes: body))
  }

  /// Several fields of the name mean the same as one with their values joined (RFC 9110, 5.3).
  private func cacheControl() -> String {
    var values: [String] = []
    var header: UnsafeMutablePointer<curl_header>?
    while unsafe curl_easy_header(easy, "cache-control", values.count, UInt32(CURLH_HEADER), -1, &header) == CURLHE_OK,
      let value = unsafe header?.pointee.value
    {
      unsafe values.append(String(cString: value))
    }
    return values.joined(separator: ",")
  }

  private func failure(_ code: CURLcode) -> FetchError {
    switch code {
    case _ where overflowed: .tooLarge
    case CURLE_FILESIZE_EXCEEDED: .tooLarge
    case CURLE_OPERATION_TIMEDOUT: .timedOut
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE: .untrusted
    case CURLE_COULDNT_CONNECT where addressRefused: .refusedAddress
    default: .unreachable(unsafe String(cString: curl_easy_strerror(code)))
    }
  }
}
