import Testing

@testable import HTTPClient

private func job(_ fields: [(String, String)], body: [UInt8]? = nil) throws -> FetchJob {
  let fields = fields.map { FetchRequest.Field($0.0, $0.1) }
  return try FetchJob(FetchRequest("https://provider.example/", fields: fields, body: body), FetchLimits())
}

struct FetchJobTests {
  @Test func `fields become lines, and an empty value is sent and not left out`() throws {
    let lines = try job([("Accept", "application/json"), ("X-Empty", ""), ("a!#$%&'*+-.^_`|~9", "a\tb ~")]).fieldLines
    #expect(lines == ["Accept: application/json", "X-Empty;", "a!#$%&'*+-.^_`|~9: a\tb ~"])
  }

  @Test(arguments: [
    "", " ", "a b", "a:", "a\r\n", "a\n", "a\0", "ä", "a/b", "(a)", "a\"", "Authorization: x\r\nHost",
  ])
  func `a field name that is not a token is rejected`(name: String) {
    #expect(throws: FetchError.refusedField) { try job([(name, "value")]) }
  }

  @Test(arguments: [
    "a\r\nHost: evil.example", "a\r", "a\n", "a\0b", "a\u{7F}", "a\u{1}", "ä", " a", "a ", "\ta", "a\t", " ",
    "a\r\n b",
  ])
  func `a value with control characters, non-ASCII characters or outer blanks is rejected`(value: String) {
    #expect(throws: FetchError.refusedField) { try job([("Authorization", value)]) }
  }

  @Test(arguments: [
    "Host", "host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Proxy-Connection", "TE",
    "Trailer", "Upgrade", "Expect", "User-Agent",
  ])
  func `only the fetcher may set fields that frame the request or belong to the connection`(name: String) {
    #expect(throws: FetchError.refusedField) { try job([(name, "1")]) }
  }

  @Test func `a body of the limit is sent, and one byte more is refused`() throws {
    let most = FetchLimits().requestBodyBytesMax
    #expect(try job([], body: Array(repeating: 1, count: most)).body?.count == most)
    #expect(throws: FetchError.requestTooLarge) { try job([], body: Array(repeating: 1, count: most + 1)) }
  }

  @Test func `fields of the limit are sent, and one byte more is refused`() throws {
    let most = FetchLimits().requestFieldsBytesMax
    let value = String(repeating: "v", count: most - 7)
    #expect(try job([("one", "1"), ("two", value)]).fieldLines.count == 2)
    #expect(throws: FetchError.requestTooLarge) { try job([("one", "1"), ("two", value + "v")]) }
  }

  @Test func `a body without a type is sent without one, and a query has none`() throws {
    #expect(try job([], body: [1]).fieldLines == ["Content-Type:"])
    #expect(try job([("content-type", "a/b")], body: [1]).fieldLines == ["content-type: a/b"])
    #expect(try job([]).fieldLines == [])
  }

  @Test(arguments: [
    ("https://LOCALHOST/a", "localhost"), ("https://127.0.0.1:9/", "127.0.0.1"), ("https://[::1]:9/", "::1"),
    ("https://provider.example", "provider.example"),
  ])
  func `the rules use the host in lower case and without brackets`(url: String, host: String) throws {
    #expect(try Target(url).host == host)
  }

  @Test func `the printed form of a request or an answer contains no value, no query and no body`() {
    let field = FetchRequest.Field("Authorization", "Bearer secret")
    let request = FetchRequest("https://a.example/b?key=secret#secret", fields: [field], body: Array("secret".utf8))
    let answer = FetchedBody(status: 200, contentType: "a/b", bytes: Array("secret".utf8))
    var dumped = ""
    dump(request, to: &dumped)
    dump(answer, to: &dumped)
    dump(field, to: &dumped)
    let printed = "\(request) \([request]) \(request.fields) \(answer) \(String(reflecting: request))"
      + "\(String(reflecting: answer)) \(String(reflecting: field))" + dumped
    #expect(!printed.contains("secret") && !printed.contains("115, 101"))
    #expect("\(FetchRequest("https://a.example/b?c", method: .delete))" == "DELETE https://a.example/b")
    #expect("\(request)" == "POST https://a.example/b" && "\(field)" == "Authorization: …")
    #expect("\(answer)" == "200 a/b, 6 bytes")
  }
}
