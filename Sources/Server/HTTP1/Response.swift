enum HTTPStatus: Int, Sendable {
  case ok = 200
  case badRequest = 400
  case notFound = 404
  case methodNotAllowed = 405
  case headTooLarge = 431
  case versionNotSupported = 505

  var reason: String {
    switch self {
    case .ok: "OK"
    case .badRequest: "Bad Request"
    case .notFound: "Not Found"
    case .methodNotAllowed: "Method Not Allowed"
    case .headTooLarge: "Request Header Fields Too Large"
    case .versionNotSupported: "HTTP Version Not Supported"
    }
  }
}

/// One answer, after which the connection is closed.
struct HTTPResponse: Sendable {
  var status: HTTPStatus
  var contentType = "text/plain; charset=utf-8"
  var body = ""

  /// - Parameter forHead: the answer to HEAD is that to GET without its body (RFC 9110 9.3.2).
  func bytes(forHead: Bool = false) -> [UInt8] {
    let text = body.isEmpty ? "\(status.rawValue) \(status.reason)\n" : body
    var head = "HTTP/1.1 \(status.rawValue) \(status.reason)\r\n"
    head += "Content-Type: \(contentType)\r\nContent-Length: \(text.utf8.count)\r\n"
    // RFC 9110 15.5.6: what would have been allowed.
    if status == .methodNotAllowed { head += "Allow: GET, HEAD\r\n" }
    head += "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    return Array(head.utf8) + (forHead ? [] : Array(text.utf8))
  }
}
