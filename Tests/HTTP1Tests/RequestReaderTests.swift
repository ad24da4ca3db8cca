import Testing

@testable import HTTP1

private func read(_ text: String, headBytesMax: Int = 4_096) -> HTTPRequestReader.Step {
  var reader = HTTPRequestReader(headBytesMax: headBytesMax)
  return reader.received(Array(text.utf8))
}

private func got(_ method: String, _ path: String) -> HTTPRequestReader.Step {
  .request(HTTPRequest(method: method, path: path))
}

@Test(arguments: [
  ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "/metrics"),
  ("HEAD / HTTP/1.1\r\nhost:a\r\n\r\n", "HEAD", "/"),
  ("GET /a?b=c?d HTTP/1.1\r\nHOST: a:1\r\nAccept: */*\r\nX-Empty:\r\n\r\n", "GET", "/a"),
  ("GET /a%2Fb/../c HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "/a%2Fb/../c"),
  ("GET http://a:1/b?c HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "/b"),
  ("GET HTTPS://a HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "/"),
  ("GET http://a?b HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "/"),
  ("GET / HTTP/1.0\r\n\r\n", "GET", "/"),
  ("GET / HTTP/1.9\r\nHost: a\r\n\r\n", "GET", "/"),
  ("DELETE / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "DELETE", "/"),
  ("GET / HTTP/1.1\r\nHost: a\r\nX: \u{e9}\t b\r\n\r\n", "GET", "/"),
  ("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /more", "GET", "/"),
])
func `a request is read with its path as sent and without its query`(text: String, method: String, path: String)
{
  #expect(read(text) == got(method, path))
}

@Test(arguments: [
  "\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
  "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
  " GET / HTTP/1.1\r\nHost: a\r\n\r\n", "G(T / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / http/1.1\r\nHost: a\r\n\r\n",
  "GET / HTTP/11\r\nHost: a\r\n\r\n", "GET / HTTP/1.x\r\nHost: a\r\n\r\n", "GET / HTTP/1.10\r\nHost: a\r\n\r\n",
  // Targets: none, a relative one, a fragment, those of OPTIONS and CONNECT, an absolute one without an authority.
  "GET  HTTP/1.1\r\nHost: a\r\n\r\n", "GET a HTTP/1.1\r\nHost: a\r\n\r\n", "GET /#b HTTP/1.1\r\nHost: a\r\n\r\n",
  "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
  "GET http:///b HTTP/1.1\r\nHost: a\r\n\r\n", "GET ftp://a/b HTTP/1.1\r\nHost: a\r\n\r\n",
  "GET /\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n", "GET /\u{7f} HTTP/1.1\r\nHost: a\r\n\r\n",
  // Host fields: none, two.
  "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
  "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
  // Fields: no colon, no name, a space before the colon, a folded line, a control character.
  "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n",
  "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: a\r\nX: \u{0}\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX: \u{7f}\r\n\r\n",
  // Line ends: CR or LF alone.
  "GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\rHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", "\n",
  // All announcements of a body.
  "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na",
  "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0, 0\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n",
  "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
])
func `bytes that are not a request, or could be read as two, are a bad request`(text: String) {
  #expect(read(text) == .refuse(.badRequest))
}

@Test(arguments: ["HTTP/2.0", "HTTP/0.9", "HTTP/3.0"])
func `another major version is not supported`(version: String) {
  #expect(read("GET / \(version)\r\nHost: a\r\n\r\n") == .refuse(.versionNotSupported))
}

@Test func `a head of the limit is accepted, and one byte more is too large`() {
  func head(of bytes: Int) -> String {
    let frame = "GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n"
    // Swift counts a carriage return and a line feed as one character.
    return frame.dropLast(2) + String(repeating: "x", count: bytes - frame.utf8.count) + "\r\n\r\n"
  }
  #expect(head(of: 100).utf8.count == 100)
  #expect(read(head(of: 100), headBytesMax: 100) == got("GET", "/"))
  #expect(read(head(of: 101), headBytesMax: 100) == .refuse(.headTooLarge))
  // An incomplete head can already be too large.
  #expect(read(String(repeating: "x", count: 100), headBytesMax: 100) == .wait)
  #expect(read(String(repeating: "x", count: 101), headBytesMax: 100) == .refuse(.headTooLarge))
}

@Test(arguments: [
  ("", ""), ("If-None-Match: \"a\"\r\n", "\"a\""), ("IF-NONE-MATCH:\t\"a\" , W/\"b\"\r\n", "\"a\",W/\"b\""),
  ("If-None-Match: \"a\"\r\nX: y\r\nif-none-match: *\r\n", "\"a\",*"), ("If-None: \"a\"\r\n", ""),
])
func `the entity tags of all If-None-Match fields are read`(fields: String, tags: String) {
  let wanted = HTTPRequest(method: "GET", path: "/", knownTags: tags)
  #expect(read("GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n") == .request(wanted))
}

@Test func `a request is read byte by byte, and an incomplete one waits`() {
  var reader = HTTPRequestReader(headBytesMax: 4_096)
  let bytes = Array("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
  for byte in bytes.dropLast() {
    let step = reader.received([byte])
    #expect(step == .wait)
  }
  let last = reader.received([bytes[bytes.count - 1]])
  #expect(last == got("GET", "/metrics"))
}

@Test func `the reader waits for, accepts or rejects any bytes`() {
  var random = SystemRandomNumberGenerator()
  let good = Array("GET /metrics HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n".utf8)
  for _ in 0..<20_000 {
    var bytes = good
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let at = Int.random(in: bytes.indices, using: &random)
      switch Int.random(in: 0..<3, using: &random) {
      case 0: bytes[at] = .random(in: 0...255, using: &random)
      case 1: bytes.remove(at: at)
      default: bytes.insert([13, 10, 32, 58, 0][Int.random(in: 0..<5, using: &random)], at: at)
      }
    }
    var reader = HTTPRequestReader(headBytesMax: 64)
    if case .request(let request) = reader.received(bytes) { #expect(request.path.hasPrefix("/")) }
  }
}

@Test func `an answer states its length and that the connection closes, and has no body for HEAD`() {
  let response = HTTPResponse(status: .ok, contentType: "text/plain", body: "é\n")
  let text = String(decoding: response.bytes(), as: UTF8.self)
  #expect(text.hasPrefix("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n"))
  #expect(text.hasSuffix("\r\nConnection: close\r\n\r\né\n"))
  #expect(String(decoding: response.bytes(forHead: true), as: UTF8.self) == text.dropLast(2))
  let refusal = String(decoding: HTTPResponse(status: .methodNotAllowed).bytes(), as: UTF8.self)
  #expect(refusal.contains("\r\nAllow: GET, HEAD\r\n"))
}
