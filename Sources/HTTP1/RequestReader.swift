/// The head of one HTTP/1.1 request (RFC 9112), with the parts that a server of static documents needs.
package struct HTTPRequest: Hashable, Sendable {
  var method: String
  /// Path without the query, not decoded.
  var path: String
  /// Entity tags of If-None-Match without whitespace; empty if there are none.
  var knownTags = ""
}

/// Incremental parser of one request head. It performs no I/O.
///
/// It is strict where RFC 9112 gives a server the choice, because different interpretations enable request smuggling.
/// It rejects a request with a body, so that it never parses bytes after the head as another request.
struct HTTPRequestReader {
  enum Step: Hashable, Sendable {
    case wait
    case request(HTTPRequest)
    /// Respond with this status and close the connection.
    case refuse(HTTPStatus)
  }

  private let headBytesMax: Int
  private var head: [UInt8] = []
  private static let tagsField = "if-none-match"

  /// Whether the head is incomplete but not empty.
  var hasBegun: Bool { !head.isEmpty }

  /// - Parameter headBytesMax: maximum size of the request line, the fields and the empty line.
  init(headBytesMax: Int) { self.headBytesMax = headBytesMax }

  /// Parses further bytes. Do not call it again after a result other than `wait`.
  mutating func received(_ bytes: some Sequence<UInt8>) -> Step {
    for byte in bytes {
      guard head.count < headBytesMax else { return .refuse(.headTooLarge) }
      // 2.2: lines end with CR LF; a single CR or LF is an error.
      guard (byte == HTTPRequestReader.lf) == (head.last == HTTPRequestReader.cr) else { return .refuse(.badRequest) }
      head.append(byte)
      if head.suffix(4).elementsEqual(HTTPRequestReader.end) { return judge() }
    }
    return .wait
  }

  private static let cr = UInt8(ascii: "\r")
  private static let lf = UInt8(ascii: "\n")
  private static let end = [cr, lf, cr, lf]

  private func judge() -> Step {
    var lines = head.dropLast(4).split(separator: HTTPRequestReader.lf, omittingEmptySubsequences: false)[...]
    // All lines but the last still end with CR.
    for index in lines.indices.dropLast() { lines[index].removeLast() }
    let parts = lines.removeFirst().split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    guard parts.count == 3, HTTPRequestReader.isToken(parts[0]), let path = HTTPRequestReader.path(of: parts[1]) else {
      return .refuse(.badRequest)
    }
    guard let version = HTTPRequestReader.version(parts[2]) else { return .refuse(.badRequest) }
    guard version.major == 1 else { return .refuse(.versionNotSupported) }
    if let refusal = HTTPRequestReader.refusal(ofFields: lines, hostIsDemanded: version.minor > 0) {
      return .refuse(refusal)
    }
    return .request(
      HTTPRequest(
        method: String(decoding: parts[0], as: UTF8.self), path: path,
        knownTags: HTTPRequestReader.values(of: HTTPRequestReader.tagsField, in: lines)))
  }

  /// Checks the fields. 3.2: exactly one Host, which HTTP/1.0 may omit; 6: no body.
  private static func refusal(ofFields lines: ArraySlice<ArraySlice<UInt8>>, hostIsDemanded: Bool) -> HTTPStatus? {
    var hosts = 0
    for line in lines {
      // 5.1: no space before the colon; 5.2: no folded lines, which would start with one.
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")), isToken(line[..<colon]),
        line[colon...].allSatisfy({ $0 == UInt8(ascii: "\t") || ($0 >= 0x20 && $0 != 0x7f) })
      else { return .badRequest }
      let value = withoutBlanks(line[(colon + 1)...])
      switch String(decoding: line[..<colon], as: UTF8.self).lowercased() {
      case "host": hosts += 1
      case "transfer-encoding": return .badRequest
      case "content-length": if value != [UInt8(ascii: "0")] { return .badRequest }
      default: break
      }
    }
    return hosts == 1 || (hosts == 0 && !hostIsDemanded) ? nil : .badRequest
  }

  /// Returns the values of a field. RFC 9110 5.3: repeated fields form one list. The lines must be valid.
  private static func values(of field: String, in lines: ArraySlice<ArraySlice<UInt8>>) -> String {
    lines.compactMap { line -> String? in
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
        String(decoding: line[..<colon], as: UTF8.self).lowercased() == field
      else { return nil }
      return String(decoding: withoutBlanks(line[(colon + 1)...]), as: UTF8.self)
    }.joined(separator: ",")
  }

  private static func withoutBlanks(_ value: ArraySlice<UInt8>) -> [UInt8] {
    value.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
  }

  /// Returns the path of a target in origin form (3.2.1) or absolute form (3.2.2), which a server must accept too.
  private static func path(of target: ArraySlice<UInt8>) -> String? {
    guard target.allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "#") }) else { return nil }
    var target = String(decoding: target, as: UTF8.self)[...]
    for scheme in ["http://", "https://"] where target.lowercased().hasPrefix(scheme) {
      let rest = target.dropFirst(scheme.count)
      let authority = rest.prefix { $0 != "/" && $0 != "?" }
      guard !authority.isEmpty else { return nil }
      target = rest[authority.endIndex...]
      if !target.hasPrefix("/") { target = "/" + target }
    }
    guard target.hasPrefix("/") else { return nil }
    return String(target.prefix { $0 != "?" })
  }

  private static func version(_ text: ArraySlice<UInt8>) -> (major: UInt8, minor: UInt8)? {
    let digits = text.dropFirst(5)
    let zero = UInt8(ascii: "0")
    guard text.starts(with: Array("HTTP/".utf8)), digits.count == 3, let major = digits.first, let minor = digits.last,
      digits[digits.startIndex + 1] == UInt8(ascii: "."), (zero...zero + 9).contains(major),
      (zero...zero + 9).contains(minor)
    else { return nil }
    return (major - zero, minor - zero)
  }

  /// Whether the text is a token (RFC 9110 5.6.2).
  private static func isToken(_ text: ArraySlice<UInt8>) -> Bool {
    !text.isEmpty
      && text.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
          UInt8(ascii: "A")...UInt8(ascii: "Z"):
          true
        default: Array("!#$%&'*+-.^_`|~".utf8).contains(byte)
        }
      }
  }
}
