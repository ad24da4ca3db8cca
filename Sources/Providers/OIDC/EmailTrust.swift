package import Store
import Tokens

/// The trust in a provider's statement about an email address. Configuration determines it, never the token's claim
/// alone.
package enum EmailTrust: Hashable, Sendable {
  /// Google runs the mailboxes of its own domains, and those of organisations whose domain it names in `hd`.
  case google
  /// A Microsoft tenant can write any address into a token. An address is verified only for a named tenant, or if a
  /// claim states that the tenant owns its domain. Personal accounts are a separate tenant, which runs the mailboxes of
  /// its domains.
  case microsoft(trustedTenants: Set<String>, trustsDomainOwnership: Bool)
  /// The configured tier, and authoritative for the named domains. If any domain is named, no other one is
  /// authoritative.
  case asserted(TrustTier, authoritativeDomains: Set<String>)

  /// Whether trust depends on the provider's statement that it verified an address.
  var needsWord: Bool {
    switch self {
    case .google: true
    case .microsoft: false
    case .asserted(let tier, let domains): tier > .unverified || !domains.isEmpty
    }
  }

  /// Returns the tier of an address. `email` is normalised. Without the provider's own statement that it verified the
  /// address, nothing raises the tier.
  func tier(of email: String, _ evidence: EmailEvidence) -> TrustTier {
    guard let at = email.utf8.lastIndex(of: UInt8(ascii: "@")) else { return .unverified }
    let domain = String(email[email.utf8.index(after: at)...])
    switch self {
    case .google:
      guard evidence.emailVerified else { return .unverified }
      let isOwn = domain == "gmail.com" || domain == "googlemail.com"
      return evidence.isHosted || isOwn ? .authoritative : .verified
    case .microsoft(let trustedTenants, let trustsDomainOwnership):
      guard let tenant = evidence.tenant else { return .unverified }
      if tenant == MicrosoftProvider.consumerTenant, MicrosoftProvider.consumerDomains.contains(domain) {
        return .authoritative
      }
      let isOwner = trustsDomainOwnership && evidence.domainOwnerIsVerified
      return isOwner || trustedTenants.contains(tenant) ? .verified : .unverified
    case .asserted(let tier, let domains):
      guard evidence.emailVerified else { return .unverified }
      if domains.contains(domain) { return .authoritative }
      return domains.isEmpty ? tier : min(tier, .verified)
    }
  }
}

extension Assertion {
  mutating func setEmail(_ email: String?, _ evidence: EmailEvidence, _ trust: EmailTrust) {
    self.email = email
    tier = email.map { trust.tier(of: $0, evidence) } ?? .unverified
  }
}

/// The statements of one provider document that concern its email address.
struct EmailEvidence: Hashable, Sendable {
  var emailVerified = false
  /// Google: the address belongs to an organisation that Google hosts.
  var isHosted = false
  /// Microsoft: the user's directory.
  var tenant: String?
  /// Microsoft: the tenant is the verified owner of the address's domain.
  var domainOwnerIsVerified = false

  /// The evidence of a provider that supplies only verified addresses, and no flag.
  static let checked: EmailEvidence = {
    var evidence = EmailEvidence()
    evidence.emailVerified = true
    return evidence
  }()

  init() {}

  /// Only a boolean counts, because some languages treat the text "false" as true (check 55).
  init(_ document: JSONValue, _ names: ClaimNames = ClaimNames(), takesText: Bool = false) {
    let claim = document.member(at: names.emailVerified)
    emailVerified = claim?.bool == true || (takesText && claim?.string == "true")
    isHosted = document["hd"]?.string.map { !$0.isEmpty } ?? false
    tenant = document["tid"]?.string
    // Entra writes this claim as a boolean, a number or a text, depending on the kind of token. No other value means
    // true.
    let ownership = document["xms_edov"]
    domainOwnerIsVerified = ownership?.bool == true || ownership?.int == 1 || ["1", "true"].contains(ownership?.string)
  }
}
