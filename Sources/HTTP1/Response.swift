enum HTTPStatus: Int, Sendable {
  case ok = 200
  case notModified = 304
  case badRequest = 400
  case notFound = 404
  case methodNotAllowed = 405
  case requestTimeout = 408
  case headTooLarge = 431
  case serviceUnavailable = 503
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
    case .serviceUnavailable: "Service Unavailable"
    case .versionNotSupported: "HTTP Version Not Supported"
    }
  }
}

/// One response, after which the connection closes.
package struct HTTPResponse: Hashable, Sendable {
  var status: HTTPStatus
  var contentType = "text/plain; charset=utf-8"
  var body = ""
  var cacheControl = "no-store"
  /// Entity tag with quotation marks; empty if there is none.
  var entityTag = ""

  /// Encodes the response.
  /// - Parameter forHead: omits the body, as for HEAD (RFC 9110 9.3.2).
  func bytes(forHead: Bool = false) -> [UInt8] {
    let text = body.isEmpty ? "\(status.rawValue) \(status.reason)\n" : body
    // RFC 9110 15.4.5: 304 has no body and needs no description of the content.
    let isBodiless = status == .notModified
    var head = "HTTP/1.1 \(status.rawValue) \(status.reason)\r\n"
    if !isBodiless { head += "Content-Type: \(contentType)\r\nContent-Length: \(text.utf8.count)\r\n" }
    // RFC 9110 15.5.6: 405 lists the allowed methods.
    if status == .methodNotAllowed { head += "Allow: GET, HEAD\r\n" }
    if !entityTag.isEmpty { head += "ETag: \(entityTag)\r\n" }
    head += "Cache-Control: \(cacheControl)\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    return Array(head.utf8) + (forHead || isBodiless ? [] : Array(text.utf8))
  }
}

/// Responses with a document, by GET and HEAD, and with a body only for clients whose copy is outdated.
extension HTTPRequest {
  /// Returns the response to the request.
  /// - Parameter document: creates the document, if it is needed; `nil` if there is none at this path.
  package func answered(by document: (() -> HTTPResponse)?) -> HTTPResponse {
    guard let document else { return HTTPResponse(status: .notFound) }
    guard method == "GET" || method == "HEAD" else { return HTTPResponse(status: .methodNotAllowed) }
    let answer = document()
    guard knows(answer.entityTag) else { return answer }
    return HTTPResponse(status: .notModified, cacheControl: answer.cacheControl, entityTag: answer.entityTag)
  }

  /// Whether the client has this entity tag, by weak comparison (RFC 9110 13.1.2).
  private func knows(_ entityTag: String) -> Bool {
    guard !entityTag.isEmpty else { return false }
    return knownTags.split(separator: ",").contains { $0 == "*" || $0 == entityTag || $0 == "W/" + entityTag }
  }
}
