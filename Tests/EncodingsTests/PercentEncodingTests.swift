import Encodings
import Testing

@Test func `unreserved characters of RFC 3986 stay, and each other byte becomes two upper-case digits`() {
  let unreserved = "ABCXYZabcxyz0189-._~"
  #expect(PercentEncoding.encode(unreserved) == unreserved)
  #expect(PercentEncoding.encode("Ladies + Gentlemen") == "Ladies%20%2B%20Gentlemen")
  #expect(PercentEncoding.encode("☃") == "%E2%98%83")
  #expect(PercentEncoding.encode("\0\u{7F}/:*'") == "%00%7F%2F%3A%2A%27")
}
