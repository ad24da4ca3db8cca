import HTTPClient
import Store
import Tokens

/// `microsoft.com`: Entra ID, and personal accounts.
///
/// The subject is `tid.oid`: the user's directory and the user's object there. `sub` differs for each of our
/// applications. The directory's administrator can write any email address (nOAuth). Neither can be the identity.
struct MicrosoftProvider: OIDCAdapter {
  static let consumerTenant = "9188040d-6c67-4c5b-b112-36a304b66dad"
  /// Domains in which Microsoft runs the mailboxes of personal accounts.
  static let consumerDomains: Set<String> = ["hotmail.com", "live.com", "msn.com", "outlook.com"]
  private static let host = "https://login.microsoftonline.com"
  private static let issuer = host + "/" + ProviderTokenRules.tenantPlaceholder + "/v2.0"
  /// Represents the configured tenant in an endpoint.
  static let tenantPart = "{tenant}"

  let client: OIDCClient

  static func standard(id: String) -> ProviderSettings {
    var settings = ProviderSettings(id: id)
    settings.issuers = [issuer]
    settings.keys = .discovery(url: host + "/" + tenantPart + "/v2.0/.well-known/openid-configuration")
    settings.endpoints = Endpoints(
      authorization: host + "/" + tenantPart + "/oauth2/v2.0/authorize",
      token: host + "/" + tenantPart + "/oauth2/v2.0/token", profile: "https://graph.microsoft.com/oidc/userinfo")
    settings.client.authentication = .post
    settings.scopes = ["openid", "email", "profile"]
    settings.callerParameters = ["domain_hint", "login_hint", "prompt"]
    // None of the token's claims about email addresses covers an address from Graph.
    settings.profileUse = .never
    settings.emailTrust = .microsoft(trustedTenants: [], trustsDomainOwnership: true)
    return settings
  }

  static func check(_ settings: ProviderSettings) throws(ProviderSettingsError) {
    try settings.checkSignedTokens()
    let tenants = settings.tenants
    try settings.require(
      isID(tenants.tenant) || ["common", "organizations", "consumers"].contains(tenants.tenant), "tenant",
      "must be common, organizations, consumers or a tenant id in lower case")
    try settings.require(tenants.allowed.allSatisfy(isID), "allowed_tenants", "must be tenant ids in lower case")
    try settings.require(
      !settings.requireResponseIssuer || !metadataIssuer(settings).contains(ProviderTokenRules.tenantPlaceholder),
      "require_response_issuer", "needs a single tenant: with several, the issuer is unknown before the redemption")
    switch settings.emailTrust {
    case .microsoft(let trusted, _):
      try settings.require(trusted.allSatisfy(isID), "email_trusted_tenants", "must be tenant ids in lower case")
    case .asserted(.unverified, []): break
    case .asserted, .google:
      throw settings.wrong(
        "email_trust", "must be default or unverified: email_trusted_tenants contains the trusted tenants")
    }
  }

  init(_ settings: ProviderSettings, fetching: any HTTPSFetching) throws(ProviderSettingsError) {
    var settings = settings
    let tenants = settings.tenants
    func filled(_ url: String) -> String { url.replacing(MicrosoftProvider.tenantPart, with: tenants.tenant) }
    settings.endpoints.authorization = filled(settings.endpoints.authorization)
    settings.endpoints.token = filled(settings.endpoints.token)
    if case .discovery(let url) = settings.keys { settings.keys = .discovery(url: filled(url)) }
    client = OIDCClient(
      settings, flow: try .openID(settings, fetching: fetching), fetching: fetching, tenantClaim: "tid",
      metadataIssuer: MicrosoftProvider.metadataIssuer(settings)
    ) { claims throws(ProviderRefusal) in try MicrosoftProvider.subject(of: claims.all, tenants) }
  }

  /// Returns the issuer that the metadata must name: the placeholder for several tenants, its own issuer for one.
  private static func metadataIssuer(_ settings: ProviderSettings) -> String {
    let issuer = settings.issuers.first ?? ""
    let placeholder = ProviderTokenRules.tenantPlaceholder
    switch settings.tenants.tenant {
    case "common", "organizations": return issuer
    case "consumers": return issuer.replacing(placeholder, with: consumerTenant)
    case let tenant: return issuer.replacing(placeholder, with: tenant)
    }
  }

  /// Returns the subject. An earlier check ensures that `iss` is the issuer of `tid`.
  static func subject(of claims: JSONValue, _ tenants: TenantSettings) throws(ProviderRefusal) -> String {
    guard let tenant = claims["tid"]?.string, isID(tenant) else { throw .invalid(why: "TENANT") }
    guard admits(tenants, tenant) else { throw .wrongOrganisation(why: "TENANT") }
    guard let object = claims["oid"]?.string, isID(object) else {
      throw .invalid(why: TokenRefusal.subject.rawValue)
    }
    return tenant + "." + object
  }

  /// Returns the subject for an id that Firebase keeps. That is Graph's id: the object without its directory. For a
  /// personal account it is the last 16 digits of the object's id.
  static func subject(ofImported text: String, _ tenants: TenantSettings) throws(ProviderRefusal) -> String {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    if parts.count == 2, parts.allSatisfy(isID) { return text }
    let object = text.utf8.count == 16 ? personal + text.prefix(4) + "-" + text.dropFirst(4) : text
    guard isID(object) else { throw refusal(ofImported: "It must be an object id in lower case.") }
    if object.hasPrefix(personal) { return consumerTenant + "." + object }
    let named = isID(tenants.tenant) ? [tenants.tenant] : tenants.allowed.subtracting([consumerTenant])
    let known = named.filter { admits(tenants, $0) }
    guard known.count == 1, let tenant = known.first else {
      throw refusal(
        ofImported: "Put the directory's id and a dot before it: microsoft.com does not admit exactly one directory.")
    }
    return tenant + "." + object
  }

  private static let personal = "00000000-0000-0000-"

  private static func refusal(ofImported hint: String) -> ProviderRefusal {
    .invalidParameter(name: "providers.subject", hint: hint)
  }

  static func admits(_ tenants: TenantSettings, _ tenant: String) -> Bool {
    let isOfKind =
      switch tenants.tenant {
      case "common": true
      case "organizations": tenant != consumerTenant
      case "consumers": tenant == consumerTenant
      default: tenant == tenants.tenant
      }
    return isOfKind && (tenants.allowed.isEmpty || tenants.allowed.contains(tenant))
  }

  /// Returns whether the text is a UUID (RFC 9562, 4) in Entra's only spelling: two spellings would be two users.
  private static func isID(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    return parts.map(\.count) == [8, 4, 4, 4, 12]
      && parts.allSatisfy { $0.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) } }
  }
}
