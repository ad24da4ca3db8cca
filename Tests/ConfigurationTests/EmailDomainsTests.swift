import Identity
import TestSupport
import Testing

@testable import Configuration

private func blocked(_ text: String) throws -> BlockedEmailDomains {
  let folder = try TemporaryFolder()
  defer { folder.remove() }
  try write(text, to: folder.path + "/domains")
  return try BlockedEmailDomains(folder.path + "/domains")
}

@Test func `a blocked domain includes its subdomains`() throws {
  let list = try blocked("# disposable\n\nExample.ORG\r\nm\u{FC}ll.example\nsub.example.net")
  for domain in ["example.org", "a.example.org", "a.b.example.org", "xn--mll-hoa.example", "sub.example.net"] {
    #expect(list.contains(domain), "\(domain)")
  }
  for domain in ["anexample.org", "org", "example.net", "example.com", ""] {
    #expect(!list.contains(domain), "\(domain)")
  }
}

@Test func `a line that is no domain is an error with its number`() throws {
  let error = try #require(throws: ConfigurationError.self) { try blocked("example.org\na b\n") }
  #expect(error.setting == "policy.blocked_email_domains_file" && error.why.contains("line 2"))
  #expect(throws: ConfigurationError.self) { try BlockedEmailDomains("/nonexistent/domains") }
}
