import CCurl
import Glibc

/// One transfer: its easy handle and the data that libcurl's callbacks collect. The callbacks use only this object.
/// They must not use the driver, which is inside a call on the multi handle.
@safe final class Transfer {
  let exchange: Exchange
  let easy: UnsafeMutableRawPointer
  private let limits: FetchLimits
  private let mayBePrivate: Bool
  private let timeMillis: Int
  private var fieldLines: UnsafeMutablePointer<curl_slist>?
  /// libcurl's text for a failure. Its code alone does not show what is wrong with a certificate, or which SMTP command
  /// was rejected.
  private let words: UnsafeMutablePointer<CChar>
  private var body: [UInt8] = []
  private var headBytes = 0
  /// Number of compressions that the response header states, in any field.
  private var codings = 0
  /// Number of bytes of a mail that libcurl has taken.
  private var sentBytes = 0
  private var overflowed = false
  private var addressRefused = false
  private static let whyBytesMax = 200

  /// Returns nil if libcurl rejects an option, for example because its build lacks a feature.
  init?(_ exchange: Exchange, _ settings: FetchSettings, mayBePrivate: Bool) {
    guard let easy = unsafe curl_easy_init() else { return nil }
    self.exchange = exchange
    unsafe self.easy = easy
    limits = settings.limits
    self.mayBePrivate = mayBePrivate
    timeMillis = max(1, Int((exchange.deadline - .now) / .milliseconds(1)))
    unsafe words = .allocate(capacity: Int(CURL_ERROR_SIZE))
    unsafe words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    guard configure(settings), setRequest() else { return nil }
  }

  deinit {
    unsafe curl_easy_cleanup(easy)
    unsafe curl_slist_free_all(fieldLines)
    unsafe words.deallocate()
  }

  private func configure(_ settings: FetchSettings) -> Bool {
    let numbers: [(CURLoption, Int)] = [
      (CURLOPT_FOLLOWLOCATION, 0),
      (CURLOPT_SSL_VERIFYPEER, 1),
      (CURLOPT_SSL_VERIFYHOST, 2),
      (CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
      // One fetch at a time on a connection: a stalled stream delays no other.
      (CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1),
      (CURLOPT_TIMEOUT_MS, timeMillis),
      (CURLOPT_NOSIGNAL, 1),
      // A name server that does not answer must not block the thread: without this, removing a transfer joins its
      // resolver thread.
      (CURLOPT_QUICK_EXIT, 1),
    ]
    var texts: [(CURLoption, String?)] = [
      (CURLOPT_URL, exchange.job.target.url),
      (CURLOPT_PROTOCOLS_STR, exchange.job.mail == nil ? "https" : "smtp,smtps"),
      // A proxy from the environment would hide the true address from the open-socket callback.
      (CURLOPT_PROXY, ""),
      (CURLOPT_USERAGENT, settings.userAgent),
      // Empty: every encoding that libcurl supports, once. `append` counts decompressed bytes, so that a small response
      // cannot grow large.
      (CURLOPT_ACCEPT_ENCODING, ""),
      // Otherwise libcurl would also trust the system's folder of authorities. It parses authorities that come only
      // from a file once a day, not for each connection.
      (CURLOPT_CAPATH, nil),
    ]
    if let caFile = settings.caFile { texts.append((CURLOPT_CAINFO, caFile)) }
    return numbers.allSatisfy { unsafe latchkey_curl_set_long(easy, $0.0, $0.1) == CURLE_OK }
      && texts.allSatisfy { unsafe latchkey_curl_set_string(easy, $0.0, $0.1) == CURLE_OK }
      && setBodyLimit() == CURLE_OK && setWords() == CURLE_OK && setCallbacks() == CURLE_OK
  }

  private func setRequest() -> Bool {
    for line in exchange.job.fieldLines {
      // On nil the list is unchanged.
      guard let longer = unsafe curl_slist_append(fieldLines, line) else { return false }
      unsafe fieldLines = longer
    }
    if let mail = exchange.job.mail { return setMail(mail) }
    guard unsafe latchkey_curl_set_fields(easy, fieldLines) == CURLE_OK else { return false }
    if exchange.job.method == .delete,
      unsafe latchkey_curl_set_string(easy, CURLOPT_CUSTOMREQUEST, FetchRequest.Method.delete.rawValue) != CURLE_OK
    {
      return false
    }
    guard let body = exchange.job.body else { return true }
    return unsafe latchkey_curl_set_body(easy, body, body.count) == CURLE_OK
  }

  private func setMail(_ mail: MailRequest) -> Bool {
    var texts = [(CURLOPT_MAIL_FROM, "<\(mail.sender)>")]
    if !mail.password.isEmpty { texts += [(CURLOPT_USERNAME, mail.user), (CURLOPT_PASSWORD, mail.password)] }
    let security = mail.security == .none ? CURLUSESSL_NONE : CURLUSESSL_ALL
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    return unsafe texts.allSatisfy { unsafe latchkey_curl_set_string(easy, $0.0, $0.1) == CURLE_OK }
      && latchkey_curl_set_long(easy, CURLOPT_USE_SSL, Int(security.rawValue)) == CURLE_OK
      && latchkey_curl_set_long(easy, CURLOPT_UPLOAD, 1) == CURLE_OK
      // Closing the connection to a silent relay must not block the thread longer than a mail may take.
      && latchkey_curl_set_long(easy, CURLOPT_SERVER_RESPONSE_TIMEOUT, max(1, limits.totalTimeMillis / 1_000))
        == CURLE_OK
      && latchkey_curl_set_size(easy, CURLOPT_INFILESIZE_LARGE, curl_off_t(mail.bytes.count)) == CURLE_OK
      && latchkey_curl_set_mail(
        easy, fieldLines, context,
        { bytes, size, count, context in
          unsafe Transfer.at(context).give(UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
        }) == CURLE_OK
  }

  @unsafe private func give(_ place: UnsafeMutableRawBufferPointer) -> Int {
    guard let mail = exchange.job.mail else { return 0 }
    let part = mail.bytes[sentBytes...].prefix(place.count)
    unsafe place.copyBytes(from: part)
    sentBytes += part.count
    return part.count
  }

  /// Ends a transfer that announces too large a body before reading it.
  private func setBodyLimit() -> CURLcode {
    unsafe latchkey_curl_set_size(easy, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(limits.answerBodyBytesMax))
  }

  private func setWords() -> CURLcode { unsafe latchkey_curl_set_string(easy, CURLOPT_ERRORBUFFER, words) }

  private func setCallbacks() -> CURLcode {
    // Unretained: the driver holds the transfer until it removes the handle from the multi handle.
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    return unsafe latchkey_curl_set_callbacks(
      easy, context,
      { line, size, count, context in
        unsafe Transfer.at(context).count(head: UnsafeRawBufferPointer(start: line, count: size * count))
      },
      { bytes, size, count, context in
        unsafe Transfer.at(context).append(UnsafeRawBufferPointer(start: bytes, count: size * count))
      },
      { context, _, address in unsafe Transfer.at(context).openSocket(address) })
  }

  @unsafe private static func at(_ context: UnsafeMutableRawPointer?) -> Transfer {
    guard let context = unsafe context else { preconditionFailure("libcurl returned no context") }
    return unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
  }

  /// Counts a header line. A return value other than the received count ends the transfer.
  @unsafe private func count(head line: UnsafeRawBufferPointer) -> Int {
    headBytes += line.count
    unsafe codings += Transfer.codings(of: line)
    overflowed = overflowed || headBytes > limits.answerHeadBytesMax || codings > limits.answerCodingsMax
    return overflowed ? 0 : line.count
  }

  /// Returns the number of compressions that a header line names (RFC 9110 8.4, RFC 9112 6.1).
  @unsafe private static func codings(of line: UnsafeRawBufferPointer) -> Int {
    // Converts ASCII letters to lower case. The other characters of these names already have this bit set.
    func says(_ bytes: some Sequence<UInt8>, _ name: String) -> Bool {
      bytes.lazy.map { $0 | 0x20 }.elementsEqual(name.utf8)
    }
    let names = ["content-encoding:", "transfer-encoding:"]
    guard let name = names.first(where: { unsafe says(line.prefix($0.utf8.count), $0) }) else { return 0 }
    let list = unsafe line.dropFirst(name.utf8.count).split { $0 <= 0x20 || $0 == UInt8(ascii: ",") }
    return unsafe list.count { unsafe !says($0, "chunked") && !says($0, "identity") }
  }

  @unsafe private func append(_ bytes: UnsafeRawBufferPointer) -> Int {
    overflowed = overflowed || body.count + bytes.count > limits.answerBodyBytesMax
    guard !overflowed else { return 0 }
    unsafe body.append(contentsOf: bytes)
    return bytes.count
  }

  @unsafe private func openSocket(_ address: UnsafeMutablePointer<curl_sockaddr>?) -> curl_socket_t {
    guard let address = unsafe address else { return CURL_SOCKET_BAD }
    var bytes = [UInt8](repeating: 0, count: 16)
    let length = unsafe latchkey_curl_address(address, &bytes)
    guard mayConnect(to: Array(bytes.prefix(Int(length)))) else {
      addressRefused = true
      return CURL_SOCKET_BAD
    }
    return unsafe socket(
      address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), address.pointee.protocol)
  }

  private func mayConnect(to address: [UInt8]) -> Bool {
    if exchange.job.mail?.security == MailRequest.Security.none { return AddressRule.isLoopback(address) }
    return mayBePrivate || AddressRule.isPublic(address)
  }

  /// Converts the result of a mail. A reply about the mail is a response, whether the relay accepted the mail or not.
  /// An earlier reply is an error.
  private func mailResult(_ code: CURLcode) -> Result<FetchedBody, FetchError> {
    if code == CURLE_OK { return .success(FetchedBody(status: 250, bytes: [])) }
    let status = unsafe latchkey_curl_status(easy)
    guard 400..<600 ~= status else { return .failure(failure(code)) }
    let said = unsafe String(cString: words)
    if code == CURLE_LOGIN_DENIED || (code == CURLE_SEND_ERROR && said.hasPrefix("MAIL failed")) {
      return .failure(.rejected(status))
    }
    let isAboutIt = code == CURLE_SEND_ERROR || (code == CURLE_WEIRD_SERVER_REPLY && sentBytes > 0)
    guard isAboutIt else { return .failure(failure(code)) }
    return .success(FetchedBody(status: status, bytes: []))
  }

  func result(_ code: CURLcode) -> Result<FetchedBody, FetchError> {
    if exchange.job.mail != nil { return mailResult(code) }
    guard code == CURLE_OK else { return .failure(failure(code)) }
    let status = unsafe latchkey_curl_status(easy)
    guard !(300..<400).contains(status) else { return .failure(.redirected) }
    let contentType = unsafe latchkey_curl_content_type(easy)
    return .success(
      FetchedBody(
        status: status, contentType: unsafe contentType.map { unsafe String(cString: $0) } ?? "",
        maxAgeSeconds: CacheControl.maxAgeSeconds(cacheControl()), dateSeconds: dateSeconds(), bytes: body))
  }

  /// Returns the values of all Cache-Control fields, joined. Several fields with one name are equivalent to one field
  /// with joined values (RFC 9110, 5.3).
  private func cacheControl() -> String {
    var values: [String] = []
    var header: UnsafeMutablePointer<curl_header>?
    while unsafe curl_easy_header(easy, "cache-control", values.count, UInt32(CURLH_HEADER), -1, &header) == CURLHE_OK,
      let value = unsafe header?.pointee.value
    {
      guard values.count < limits.cacheControlFieldsMax else { return "no-store" }
      unsafe values.append(String(cString: value))
    }
    return values.joined(separator: ",")
  }

  private func dateSeconds() -> Int64? {
    var header: UnsafeMutablePointer<curl_header>?
    guard unsafe curl_easy_header(easy, "date", 0, UInt32(CURLH_HEADER), -1, &header) == CURLHE_OK,
      let value = unsafe header?.pointee.value
    else { return nil }
    let seconds = unsafe curl_getdate(value, nil)
    return seconds >= 0 ? Int64(seconds) : nil
  }

  /// Returns what the result shows about the provider. A timeout shows nothing if the fetch spent most of its time
  /// waiting.
  func end(_ result: Result<FetchedBody, FetchError>) -> Breaker.End {
    switch result {
    case .success(let answer): answer.status < 500 || exchange.job.mail != nil ? .answered : .failed
    case .failure(.timedOut): timeMillis < limits.totalTimeMillis / 2 ? .unknown : .failed
    // The provider did respond. A failure that one user's token can cause must not block other users.
    case .failure(.tooLarge), .failure(.redirected), .failure(.rejected): .answered
    case .failure: .failed
    }
  }

  private func failure(_ code: CURLcode) -> FetchError {
    switch code {
    case _ where overflowed: .tooLarge
    case CURLE_FILESIZE_EXCEEDED: .tooLarge
    // libcurl reports this code for a header line above 100 KiB. If memory really runs out, the process ends first.
    case CURLE_OUT_OF_MEMORY: .tooLarge
    case CURLE_OPERATION_TIMEDOUT: .timedOut
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE: .untrusted(why(code))
    case CURLE_COULDNT_CONNECT where addressRefused: .refusedAddress
    default: .unreachable(why(code))
    }
  }

  /// Returns libcurl's text for the log. The server controls parts of it, such as the names in its certificate.
  private func why(_ code: CURLcode) -> String {
    let said = unsafe String(cString: words[0] == 0 ? UnsafePointer(curl_easy_strerror(code)) : UnsafePointer(words))
    return String(decoding: said.utf8.prefix(Transfer.whyBytesMax).filter { 0x20...0x7E ~= $0 }, as: UTF8.self)
  }
}
