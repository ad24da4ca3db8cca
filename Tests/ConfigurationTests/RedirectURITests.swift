import Testing

@testable import Configuration

@Test(arguments: [
  "https://app.example/callback", "https://app.example", "https://app.example:8443/a?b=c", "http://localhost:3000/cb",
  "http://127.0.0.1/cb", "http://[::1]:99/cb", "com.example.app:/oauth2redirect", "com.example.app://callback",
])
func `redirect URIs may use https, loopback addresses and schemes of mobile apps`(_ uri: String) {
  #expect(RedirectURI.isAllowed(uri))
}

@Test(arguments: [
  "", "app.example/callback", "http://app.example/callback", "http://localhost.example/callback",
  "http://127.0.0.1.example/", "http://[::1]example/", "https://", "https:/app.example", "https://user@app.example/",
  "https://app.example/#fragment", "https://app.example/a b", "https://app.example/\u{e9}", "javascript:alert(1)",
  "data:text/html,x", "file:///etc/passwd", "ftp://app.example/",
])
func `redirect URIs may not use plain http to other hosts or schemes that run in a page`(_ uri: String) {
  #expect(!RedirectURI.isAllowed(uri))
}

@Test func `a redirect URI has 2048 bytes at most`() {
  let longest = "https://app.example/" + String(repeating: "a", count: 2_048 - 20)
  #expect(RedirectURI.isAllowed(longest) && !RedirectURI.isAllowed(longest + "a"))
}
