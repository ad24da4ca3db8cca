import Testing

@testable import HTTPClient

@Suite(.timeLimit(.minutes(1)))
struct AnswerTests {
  @Test func `an answer has its status, content type, lifetime and bytes`() async throws {
    let body = try await get("/ok")
    #expect(body.status == 200)
    #expect(body.contentType == "application/json")
    #expect(body.maxAgeSeconds == 1234)
    #expect(body.bytes == Array(#"{"keys":[]}"#.utf8))
  }

  @Test(arguments: [(16, 5), (17, 0), (1_000, 0)])
  func `cache control fields past the maximum are all ignored`(count: Int, seconds: Int) async throws {
    #expect(try await get("/cache-controls/\(count)").maxAgeSeconds == seconds)
  }

  @Test func `a 404 is an answer with that status`() async throws {
    let body = try await get("/missing")
    #expect(body.status == 404)
    #expect(body.maxAgeSeconds == nil)
    #expect(body.bytes == Array("no such page".utf8))
  }

  @Test func `check 68: an error or a page is an answer with its status and type`() async throws {
    #expect(try await get("/error").status == 500)
    let page = try await get("/html")
    #expect(page.status == 200 && page.contentType == "text/html")
  }

  @Test func `a body of exactly the limit is accepted and one byte more is not`() async throws {
    #expect(try await get("/sized/1000") { $0.limits.answerBodyBytesMax = 1000 }.bytes.count == 1000)
    await #expect(throws: FetchError.tooLarge) {
      try await get("/sized/1001") { $0.limits.answerBodyBytesMax = 1000 }
    }
  }

  @Test(arguments: ["gzip", "deflate"])
  func `a compressed body is decoded, and its limit applies to the decoded bytes`(encoding: String) async throws {
    let body = [UInt8](repeating: UInt8(ascii: "x"), count: 1000)
    #expect(try await get("/\(encoding)/1000") { $0.limits.answerBodyBytesMax = 1000 }.bytes == body)
    await #expect(throws: FetchError.tooLarge) {
      try await get("/\(encoding)/1001") { $0.limits.answerBodyBytesMax = 1000 }
    }
  }

  @Test func `a head of the limit is accepted and one byte more is not`() async throws {
    #expect(try await get("/head/2000") { $0.limits.answerHeadBytesMax = 2000 }.status == 200)
    await #expect(throws: FetchError.tooLarge) { try await get("/head/2001") { $0.limits.answerHeadBytesMax = 2000 } }
  }
}

/// The request that the server received, line by line, and its body. `codings` depends on libcurl's build.
private func echo(
  _ request: FetchRequest, userAgent: String = "latchkey"
) async throws -> (lines: [String], codings: String, body: [UInt8]) {
  var request = request
  request.url = LocalServer.shared.url("/echo")
  let fetcher = try fetcher { $0.userAgent = userAgent }
  let bytes = try await fetcher.fetch(request).bytes
  let end = try #require(bytes.indices.dropLast().first { bytes[$0] == 10 && bytes[$0 + 1] == 10 })
  let head = String(decoding: bytes[..<end], as: UTF8.self)
  let lines = head.split(separator: "\n").map(String.init)
  let codings = lines.filter { $0.hasPrefix("Accept-Encoding: ") }
  return (lines.filter { !codings.contains($0) }, codings.joined(separator: "\n"), Array(bytes[(end + 2)...]))
}

@Suite(.timeLimit(.minutes(1)))
struct RequestTests {
  private let host = "Host: localhost:\(LocalServer.shared.port)"

  @Test func `a request without a body is a GET with the fetcher's and the request's fields`() async throws {
    let fields = [("Authorization", "Bearer a b"), ("Accept", "application/json"), ("X", "")].map {
      FetchRequest.Field($0.0, $0.1)
    }
    let sent = try await echo(FetchRequest("", fields: fields), userAgent: "latchkey-test/1")
    #expect(
      sent.lines == [
        "GET", "Accept: application/json", "Authorization: Bearer a b", host, "User-Agent: latchkey-test/1", "X: ",
      ])
    #expect(sent.codings.contains("gzip") && !sent.codings.contains("\n"))
    #expect(sent.body == [])
  }

  @Test func `a request with a body is a POST of every byte`() async throws {
    let body = (0..<65_536).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) }
    let type = FetchRequest.Field("Content-Type", "application/octet-stream")
    let sent = try await echo(FetchRequest("", fields: [type], body: body))
    #expect(
      sent.lines == [
        "POST", "Accept: */*", "Content-Length: 65536", "Content-Type: application/octet-stream", host,
        "User-Agent: latchkey",
      ])
    #expect(sent.body == body)
  }

  @Test func `a DELETE may have a body`() async throws {
    let type = FetchRequest.Field("Content-Type", "application/json")
    let sent = try await echo(FetchRequest("", fields: [type], body: [0x7B, 0x7D], method: .delete))
    #expect(
      sent.lines == [
        "DELETE", "Accept: */*", "Content-Length: 2", "Content-Type: application/json", host, "User-Agent: latchkey",
      ])
    #expect(sent.body == [0x7B, 0x7D])
    let none = try await echo(FetchRequest("", method: .delete))
    #expect(none.lines == ["DELETE", "Accept: */*", host, "User-Agent: latchkey"])
  }

  @Test func `an empty body, or one that begins with a NUL, is sent unchanged`() async throws {
    let none = try await echo(FetchRequest("", body: []))
    #expect(none.lines == ["POST", "Accept: */*", "Content-Length: 0", host, "User-Agent: latchkey"])
    #expect(try await echo(FetchRequest("", body: [0, 1, 0])).body == [0, 1, 0])
  }

  @Test func `a field that would inject another is refused before anything is sent`() async throws {
    let fetcher = try fetcher()
    for (name, value) in [("A\r\nB", "c"), ("A", "b\r\nHost: c"), ("Host", "c"), ("Accept-Encoding", "c")] {
      let request = FetchRequest("https://localhost:1/", fields: [FetchRequest.Field(name, value)])
      await #expect(throws: FetchError.refusedField) { try await fetcher.fetch(request) }
    }
  }

  @Test(arguments: [
    "http://localhost/ok", "file:///etc/passwd", "ftp://localhost/ok", "gopher://localhost/", "localhost/ok", "",
    "https://", "https://user:secret@localhost/ok", "https://localhost/a b", "https://localhost/\0",
    "https://lócalhost/", "https://localhost/\r\nX: y",
  ])
  func `only an absolute https URL without user information is fetched`(url: String) async throws {
    let fetcher = try fetcher()
    await #expect(throws: FetchError.refusedURL) { try await fetcher.get(url) }
  }

  @Test(arguments: [
    "localhost", "LOCALHOST", "127.0.0.1", "127.1", "0x7f.0.0.1", "2130706433", "0177.0.0.1", "0.0.0.0", "[::1]",
    "[::ffff:127.0.0.1]", "[::]", "[64:ff9b::7f00:1]",
  ])
  func `check 68: a host that resolves to a private address is refused by default`(host: String) async throws {
    let fetcher = try fetcher { $0.privateHosts = [] }
    await #expect(throws: FetchError.refusedAddress) {
      try await fetcher.get(LocalServer.shared.url("/ok", host: host))
    }
  }

  @Test func `a private address is allowed for the configured host only`() async throws {
    let fetcher = try fetcher { $0.privateHosts = ["provider.internal"] }
    await #expect(throws: FetchError.refusedAddress) { try await fetcher.get(LocalServer.shared.url("/ok")) }
    fetcher.fetcher.allow(privateHosts: ["localhost", "127.0.0.1"])
    _ = try await fetcher.get(LocalServer.shared.url("/ok"))
    fetcher.fetcher.allow(privateHosts: [])
    // The connection to localhost stays open, so a fetch of that host does not look up its address.
    let other = LocalServer.shared.url("/ok", host: "127.0.0.1")
    await #expect(throws: FetchError.refusedAddress) { try await fetcher.get(other) }
  }
}
