enum HTTPStatus: Int, Sendable {
  case ok = 200
  case notModified = 304
  case badRequest = 400
  case notFound = 404
  case methodNotAllowed = 405
  case requestTimeout = 408
  case headTooLarge = 431
  case versionNotSupported = 505

  var reason: String {
    switch self {
    case .ok: "OK"
    case .notModified: "Not Modified"
    case .badRequest: "Bad Request"
    case .notFound: "Not Found"
    case .methodNotAllowed: "Method Not Allowed"
    case .requestTimeout: "Request Timeout"
    case .headTooLarge: "Request Header Fields Too Large"
    case .versionNotSupported: "HTTP Version Not Supported"
    }
  }
}

/// One answer, after which the connection is closed.
struct HTTPResponse: Hashable, Sendable {
  var status: HTTPStatus
  var contentType = "text/plain; charset=utf-8"
  var body = ""
  var cacheControl = "no-store"
  /// With its quotation marks; empty: none.
  var entityTag = ""

  /// - Parameter forHead: the answer to HEAD is that to GET without its body (RFC 9110 9.3.2).
  func bytes(forHead: Bool = false) -> [UInt8] {
    let text = body.isEmpty ? "\(status.rawValue) \(status.reason)\n" : body
    // RFC 9110 15.4.5: what the client has needs no description, and 304 never has a body.
    let isBodiless = status == .notModified
    var head = "HTTP/1.1 \(status.rawValue) \(status.reason)\r\n"
    if !isBodiless { head += "Content-Type: \(contentType)\r\nContent-Length: \(text.utf8.count)\r\n" }
    // RFC 9110 15.5.6: what would have been allowed.
    if status == .methodNotAllowed { head += "Allow: GET, HEAD\r\n" }
    if !entityTag.isEmpty { head += "ETag: \(entityTag)\r\n" }
    head += "Cache-Control: \(cacheControl)\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    return Array(head.utf8) + (forHead || isBodiless ? [] : Array(text.utf8))
  }
}

/// A document that is given away: by GET and HEAD, and only in full to those who do not have it yet.
extension HTTPRequest {
  /// - Parameter document: made only where it is wanted; nil: there is none at this path.
  func answered(by document: (() -> HTTPResponse)?) -> HTTPResponse {
    guard let document else { return HTTPResponse(status: .notFound) }
    guard method == "GET" || method == "HEAD" else { return HTTPResponse(status: .methodNotAllowed) }
    let answer = document()
    guard knows(answer.entityTag) else { return answer }
    return HTTPResponse(status: .notModified, cacheControl: answer.cacheControl, entityTag: answer.entityTag)
  }

  /// RFC 9110 13.1.2, by the weak comparison.
  private func knows(_ entityTag: String) -> Bool {
    guard !entityTag.isEmpty else { return false }
    return knownTags.split(separator: ",").contains { $0 == "*" || $0 == entityTag || $0 == "W/" + entityTag }
  }
}
