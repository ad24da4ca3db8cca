internal import Crypto
package import Identity
internal import Reactor
internal import Text

/// The domains of `policy.blocked_email_domains_file`, in eight bytes each.
struct BlockedEmailDomains: DomainList {
  private static let setting = "policy.blocked_email_domains_file"
  private static let fileBytesMax = 64 << 20
  private let domains: DigestSet

  /// Reads one domain a line. Blank lines and those that begin with `#` are comments.
  init(_ path: String) throws(ConfigurationError) {
    let bytes = try readFile(path, of: BlockedEmailDomains.setting, bytesMax: BlockedEmailDomains.fileBytesMax)
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw ConfigurationError(setting: BlockedEmailDomains.setting, why: "\(path) is not UTF-8")
    }
    var digests: [UInt64] = []
    // A carriage return and a line feed are one character.
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (number, line) in lines.enumerated() where !line.isEmpty && !line.hasPrefix("#") {
      guard let domain = canonicalEmailDomain(line) else {
        throw ConfigurationError(
          setting: BlockedEmailDomains.setting, why: "line \(number + 1) of \(path) is not a domain")
      }
      digests.append(DigestSet.digest(Array(domain.utf8)))
    }
    domains = DigestSet(digests)
  }

  func contains(_ domain: String) -> Bool {
    var rest = domain[...]
    while !rest.isEmpty {
      if domains.contains(Array(rest.utf8)) { return true }
      guard let dot = rest.firstIndex(of: ".") else { return false }
      rest = rest[rest.index(after: dot)...]
    }
    return false
  }
}

extension Settings {
  mutating func readSignUpRules(
    _ group: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) {
    let domains = try group.texts(
      "allowed_email_domains", [], "the only domains of new email addresses, without subdomains; empty: all")
    for domain in domains {
      guard let canonical = canonicalEmailDomain(domain) else {
        throw group.wrong("allowed_email_domains", "\(domain) is not a domain")
      }
      policy.emailDomains.allowed.insert(canonical)
    }
    blockedEmailDomainsFile = path(
      try group.text(
        "blocked_email_domains_file", "",
        "domains that new email addresses may not have, one a line, with their subdomains; empty: none"))
    policy.phoneCountries = try group.texts(
      "allowed_phone_countries", [],
      "calling codes such as +49, or longer beginnings of numbers, that get codes by text message; empty: all")
    for code in policy.phoneCountries {
      guard code.hasPrefix("+"), (2...8).contains(code.utf8.count),
        code.utf8.dropFirst().allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
      else { throw group.wrong("allowed_phone_countries", "\(code) is not + with 1 to 7 digits") }
    }
    policy.invitationLifetimeMillis = try group.seconds(
      "invitation_lifetime_seconds", 604_800, 3_600...2_592_000, "lifetime of the link of an invitation")
  }

  /// Returns the policy with the content of its files.
  package func policyWithFiles() throws(ConfigurationError) -> Policy {
    var policy = policy
    if !blockedEmailDomainsFile.isEmpty {
      policy.emailDomains.blocked = try BlockedEmailDomains(blockedEmailDomainsFile)
    }
    return policy
  }
}
