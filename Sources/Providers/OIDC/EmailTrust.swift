package import Store

/// How far a provider's word on an address goes: a table in configuration, never the token's claim alone.
package enum EmailTrust: Hashable, Sendable {
  /// Google runs the mailboxes of its own domains, and those of the organisations whose domain it names in `hd`.
  case google
  /// The configured tier, and authoritative for the domains named. Where some are named, no other one is authoritative.
  case asserted(TrustTier, authoritativeDomains: Set<String>)

  /// `email` is normalised. Without the provider's own word that it checked the address, nothing raises the tier.
  func tier(of email: String, emailVerified: Bool, hostedDomain: String?) -> TrustTier {
    guard emailVerified, let at = email.lastIndex(of: "@") else { return .unverified }
    let domain = String(email[email.index(after: at)...])
    switch self {
    case .google:
      let hosted = hostedDomain.map { !$0.isEmpty } ?? false
      return hosted || domain == "gmail.com" || domain == "googlemail.com" ? .authoritative : .verified
    case .asserted(let tier, let domains):
      if domains.contains(domain) { return .authoritative }
      return domains.isEmpty ? tier : min(tier, .verified)
    }
  }
}
