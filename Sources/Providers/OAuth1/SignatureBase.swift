/// The parts of a request that an OAuth 1.0a signature covers.
package struct SignedRequest: Hashable, Sendable {
  package var method: String
  package var url: String
  /// The body, if it is a form. No other body is part of the signature (RFC 5849, 3.4.1.3.1).
  package var form: Form

  package init(method: String, url: String, form: Form = Form()) {
    self.method = method
    self.url = url
    self.form = form
  }
}

/// The signature base string (RFC 5849, 3.4.1). It depends only on the request: the same request always has the same
/// text, however a client, a proxy or the provider spelled it.
package enum SignatureBase {
  /// Returns the base string; nil if the URL is not http or https, or if its query is not a form.
  ///
  /// - Parameter oauth: parameters of the Authorization header. `realm` and the signature itself do not count.
  package static func text(_ request: SignedRequest, oauth: Form) -> String? {
    guard let uri = uri(request.url), let parameters = parameters(request, oauth: oauth) else { return nil }
    return [request.method.uppercased(), uri, normalised(parameters)].map(URLEncoding.percentEncoded)
      .joined(separator: "&")
  }

  /// Returns the base string URI (3.4.1.2): scheme and host in lower case, a non-default port, and the unchanged path.
  /// It has no query and no fragment.
  static func uri(_ url: String) -> String? {
    let whole = url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    guard let colon = whole.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let scheme = String(whole[..<colon])?.lowercased() ?? ""
    let rest = whole[colon...].dropFirst("://".utf8.count)
    guard whole[colon...].starts(with: "://".utf8), let defaultPort = ["http": ":80", "https": ":443"][scheme] else {
      return nil
    }
    let pathStart = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
    guard var authority = String(rest[..<pathStart])?.lowercased(), let path = String(rest[pathStart...]),
      !authority.isEmpty, !authority.utf8.contains(UInt8(ascii: "@"))
    else { return nil }
    if authority.hasSuffix(defaultPort) { authority.removeLast(defaultPort.count) }
    return scheme + "://" + authority + (path.isEmpty ? "/" : path)
  }

  /// Returns the decoded parameters of query, header and body (3.4.1.3.1), without the signature in any of them and
  /// without the header's realm.
  private static func parameters(_ request: SignedRequest, oauth: Form) -> [Parameter]? {
    let text = request.url.utf8.prefix { $0 != UInt8(ascii: "#") }.drop { $0 != UInt8(ascii: "?") }.dropFirst()
    guard let query = Form(parsing: Array(text)) else { return nil }
    let header = oauth.parameters.filter { $0.name != "realm" }
    return (query.parameters + header + request.form.parameters).filter { $0.name != "oauth_signature" }
  }

  /// Encodes the parameters, then sorts them by the bytes of the name and, for equal names, of the value (3.4.1.3.2).
  static func normalised(_ parameters: [Parameter]) -> String {
    let encoded = parameters.map { parameter in
      (name: bytes(parameter.name), value: bytes(parameter.value))
    }
    let sorted = encoded.sorted { left, right in
      left.name == right.name
        ? left.value.lexicographicallyPrecedes(right.value) : left.name.lexicographicallyPrecedes(right.name)
    }
    let pairs = sorted.map { $0.name + [UInt8(ascii: "=")] + $0.value }
    return String(decoding: Array(pairs.joined(separator: [UInt8(ascii: "&")])), as: UTF8.self)
  }

  private static func bytes(_ text: String) -> [UInt8] { Array(URLEncoding.percentEncoded(text).utf8) }
}
