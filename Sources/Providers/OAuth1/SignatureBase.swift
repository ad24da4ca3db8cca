/// One request as the signature of OAuth 1.0a sees it.
package struct SignedRequest: Hashable, Sendable {
  package var method: String
  package var url: String
  /// The body, where it is a form; any other body is not part of the signature (RFC 5849, 3.4.1.3.1).
  package var form: Form

  package init(method: String, url: String, form: Form = Form()) {
    self.method = method
    self.url = url
    self.form = form
  }
}

/// The text that a signature is over (RFC 5849, 3.4.1), from the request alone: the same request is always the same
/// text, however a client, a proxy or the provider spelt it.
package enum SignatureBase {
  /// - Parameter oauth: the parameters of the Authorization header; `realm` and the signature itself do not count.
  /// - Returns: nil where the URL is none of http or https, or its query is no form.
  package static func text(_ request: SignedRequest, oauth: Form) -> String? {
    guard let uri = uri(request.url), let parameters = parameters(request, oauth: oauth) else { return nil }
    return [request.method.uppercased(), uri, normalised(parameters)].map(URLEncoding.percentEncoded)
      .joined(separator: "&")
  }

  /// The base string URI (3.4.1.2): scheme and host in lower case, the port where it is not the scheme's own, the path
  /// as it is; no query, no fragment.
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

  /// The parameters of query, header and body, decoded (3.4.1.3.1). The signature does not count wherever it stands,
  /// and the realm does not in the header.
  private static func parameters(_ request: SignedRequest, oauth: Form) -> [Parameter]? {
    let text = request.url.utf8.prefix { $0 != UInt8(ascii: "#") }.drop { $0 != UInt8(ascii: "?") }.dropFirst()
    guard let query = Form(parsing: Array(text)) else { return nil }
    let header = oauth.parameters.filter { $0.name != "realm" }
    return (query.parameters + header + request.form.parameters).filter { $0.name != "oauth_signature" }
  }

  /// Encoded first and sorted then, by the bytes of the name and, where a name occurs again, of the value (3.4.1.3.2).
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
