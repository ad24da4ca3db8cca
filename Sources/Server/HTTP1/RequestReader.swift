/// The head of one HTTP/1.1 request (RFC 9112), as far as a server looks that only gives documents away.
struct HTTPRequest: Hashable, Sendable {
  var method: String
  /// Without its query; as it was sent, nothing decoded.
  var path: String
  /// The entity tags of If-None-Match, without blanks; empty: none.
  var knownTags = ""
}

/// Reads one request head that comes in pieces. A value without I/O: bytes in, a verdict out.
///
/// It is strict where RFC 9112 lets a server choose, because what two readers understand differently is how requests
/// are smuggled; a request with a body is refused, so that what follows the head is never taken for another request.
struct HTTPRequestReader {
  enum Step: Hashable, Sendable {
    case wait
    case request(HTTPRequest)
    /// The answer is this status, and then the connection is closed.
    case refuse(HTTPStatus)
  }

  private let headBytesMax: Int
  private var head: [UInt8] = []
  private static let tagsField = "if-none-match"

  /// Something has come that is not whole yet.
  var hasBegun: Bool { !head.isEmpty }

  /// - Parameter headBytesMax: of request line, fields and the empty line.
  init(headBytesMax: Int) { self.headBytesMax = headBytesMax }

  /// To be asked until it says something else than `wait`.
  mutating func received(_ bytes: some Sequence<UInt8>) -> Step {
    for byte in bytes {
      guard head.count < headBytesMax else { return .refuse(.headTooLarge) }
      // 2.2: lines end with CR LF; either alone is refused, not guessed at.
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
    // All but the last still end with their CR.
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

  /// 3.2: the host once, and in HTTP/1.1 always; 6: no body.
  private static func refusal(ofFields lines: ArraySlice<ArraySlice<UInt8>>, hostIsDemanded: Bool) -> HTTPStatus? {
    var hosts = 0
    for line in lines {
      // 5.1: no space before the colon; 5.2: no folded lines, which would begin with one.
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

  /// RFC 9110 5.3: a field that comes several times is one list. Only of lines that were judged.
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

  /// 3.2.1 origin form, and 3.2.2 absolute form, which a server must take too.
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

  /// RFC 9110 5.6.2.
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
