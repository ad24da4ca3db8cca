import CCurl

/// A validated request. All checks precede any use by libcurl.
struct FetchJob: Sendable {
  let method: FetchRequest.Method
  let target: Target
  let provider: String
  /// Header fields in libcurl's format.
  let fieldLines: [String]
  let body: [UInt8]?
  /// nil: an HTTPS request.
  let mail: MailRequest?

  init(_ request: FetchRequest, _ limits: FetchLimits) throws(FetchError) {
    method = request.method
    target = try Target(request.url)
    provider = request.provider
    body = request.body
    mail = nil
    guard (body?.count ?? 0) <= limits.requestBodyBytesMax,
      request.fields.reduce(0, { $0 + $1.name.utf8.count + $1.value.utf8.count }) <= limits.requestFieldsBytesMax
    else { throw .requestTooLarge }
    guard request.fields.allSatisfy(FieldRule.allows) else { throw .refusedField }
    var lines = request.fields.map(FieldRule.line)
    // libcurl would add its own type for a body without one.
    if body != nil, !request.fields.contains(where: { $0.name.lowercased() == "content-type" }) {
      lines.append("Content-Type:")
    }
    fieldLines = lines
  }
}

/// A validated URL, with the host for limits and rules.
struct Target: Hashable, Sendable {
  let url: String
  /// The host in lower case. An IPv6 address has no brackets.
  let host: String

  /// Creates a target from validated parts.
  init(checked url: String, host: String) {
    self.url = url
    self.host = host
  }

  init(_ url: String) throws(FetchError) {
    // A NUL would end the C string, and libcurl would see another URL than the validated one.
    guard url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let parts = unsafe curl_url() else { throw .refusedURL }
    defer { unsafe curl_url_cleanup(parts) }
    let code = unsafe curl_url_set(parts, CURLUPART_URL, url, UInt32(CURLU_DISALLOW_USER))
    guard code == CURLUE_OK, unsafe Target.part(CURLUPART_SCHEME, of: parts) == "https",
      let host = unsafe Target.part(CURLUPART_HOST, of: parts), !host.isEmpty
    else { throw .refusedURL }
    self.url = url
    self.host = (host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host).lowercased()
  }

  @unsafe private static func part(_ part: CURLUPart, of parts: OpaquePointer) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard unsafe curl_url_get(parts, part, &text, 0) == CURLUE_OK, let text = unsafe text else { return nil }
    defer { unsafe curl_free(text) }
    return unsafe String(cString: text)
  }
}

/// The rule for URLs that can be fetched. Allows rejecting a configuration before any fetch.
package enum URLRule {
  package static func isURL(_ text: String) -> Bool { host(text) != nil }

  /// Returns the host in lower case, without the brackets of an IPv6 address. Returns nil if a fetch of the URL would
  /// fail.
  package static func host(_ url: String) -> String? { (try? Target(url))?.host }
}

/// The rule for header fields of a request.
enum FieldRule {
  /// libcurl sets the fields that frame a message or belong to a connection (RFC 9110, 7.6.1; RFC 9112, 6). With a
  /// second one, a value could decide where a request ends or which host receives it. libcurl also sets the field with
  /// the codings that it can decode.
  private static let own: Set<String> = [
    "accept-encoding", "connection", "content-length", "expect", "host", "keep-alive", "proxy-connection", "te",
    "trailer", "transfer-encoding", "upgrade", "user-agent",
  ]

  static func allows(_ field: FetchRequest.Field) -> Bool {
    isToken(field.name) && isValue(field.value) && !own.contains(field.name.lowercased())
  }

  /// Returns whether a name is a token (RFC 9110, 5.6.2).
  private static func isToken(_ name: String) -> Bool { isWord(name, with: "!#$%&'*+-.^_`|~") }

  /// Returns whether a value is valid (RFC 9110, 5.5), without the obsolete bytes above ASCII. Blanks at the ends are
  /// not part of a value.
  private static func isValue(_ value: String) -> Bool {
    let blanks: Set<UInt8> = [0x20, 0x09]
    return value.utf8.allSatisfy { (0x20...0x7E).contains($0) || $0 == 0x09 }
      && value.utf8.first.map { !blanks.contains($0) } ?? true && value.utf8.last.map { !blanks.contains($0) } ?? true
  }

  /// Formats a field for libcurl. "Name:" without a value means to omit the field, so an empty field ends with a
  /// semicolon.
  static func line(_ field: FetchRequest.Field) -> String {
    field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"
  }
}

/// Returns whether a text is not empty and consists of ASCII letters, digits and these marks.
func isWord(_ text: String, with marks: String) -> Bool {
  !text.isEmpty
    && text.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
      default: marks.utf8.contains(byte)
      }
    }
}
