package import Store
import Tokens

/// How far a provider's word on an address goes: a table in configuration, never the token's claim alone.
package enum EmailTrust: Hashable, Sendable {
  /// Google runs the mailboxes of its own domains, and those of the organisations whose domain it names in `hd`.
  case google
  /// Microsoft lets a tenant write any address into a token: only the tenants named, or the claim that the address's
  /// domain is the tenant's own, make it more than a text. Personal accounts are a tenant of their own, which runs the
  /// mailboxes of its domains.
  case microsoft(trustedTenants: Set<String>, trustsDomainOwnership: Bool)
  /// The configured tier, and authoritative for the domains named. Where some are named, no other one is authoritative.
  case asserted(TrustTier, authoritativeDomains: Set<String>)

  /// Whether anything hangs on the provider's own word that it checked an address.
  var needsWord: Bool {
    switch self {
    case .google: true
    case .microsoft: false
    case .asserted(let tier, let domains): tier > .unverified || !domains.isEmpty
    }
  }

  /// `email` is normalised. Without the provider's own word that it checked the address, nothing raises the tier.
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

/// What one document of a provider says that bears on the address in it.
struct EmailEvidence: Hashable, Sendable {
  var emailVerified = false
  /// Google: the address is of an organisation that it hosts.
  var isHosted = false
  /// Microsoft: whose directory the person is in.
  var tenant: String?
  /// Microsoft: the address's domain is proved to be the tenant's.
  var domainOwnerIsVerified = false

  /// Of a provider that gives an address out only once it has checked it, and has no flag beside it.
  static let checked: EmailEvidence = {
    var evidence = EmailEvidence()
    evidence.emailVerified = true
    return evidence
  }()

  init() {}

  /// Only the boolean counts: the text "false" is not false in every language (check 55).
  init(_ document: JSONValue, _ names: ClaimNames = ClaimNames(), takesText: Bool = false) {
    let claim = document.member(at: names.emailVerified)
    emailVerified = claim?.bool == true || (takesText && claim?.string == "true")
    isHosted = document["hd"]?.string.map { !$0.isEmpty } ?? false
    tenant = document["tid"]?.string
    // Entra writes this one as a boolean, a number or a text, depending on the kind of token; nothing else is true.
    let ownership = document["xms_edov"]
    domainOwnerIsVerified = ownership?.bool == true || ownership?.int == 1 || ["1", "true"].contains(ownership?.string)
  }
}
