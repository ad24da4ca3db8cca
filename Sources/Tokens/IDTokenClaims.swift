/// The claims of our ID tokens, and their JSON. They are the contract with every service behind this one.
package struct IDTokenClaims: Equatable, Sendable {
  package struct Identity: Equatable, Sendable {
    package let providerID: String
    package var subjects: [String]

    package init(providerID: String, subjects: [String]) {
      self.providerID = providerID
      self.subjects = subjects
    }
  }

  package var issuer: String
  package var audience: String
  package var accountID: String
  package var issuedAt: Int64
  package var expiresAt: Int64
  package var authenticatedAt: Int64
  package var sessionID: String
  /// Authentication methods (RFC 8176).
  package var methods: [String]
  package var email: String?
  package var emailVerified = false
  package var phoneNumber: String?
  package var name: String?
  package var picture: String?
  package var identities: [Identity] = []
  package var signInProvider: String
  package var secondFactor: String?
  package var secondFactorID: String?
  package var customClaims = CustomClaims.none

  package init(
    issuer: String, audience: String, accountID: String, issuedAt: Int64, expiresAt: Int64, authenticatedAt: Int64,
    sessionID: String, methods: [String], signInProvider: String
  ) {
    self.issuer = issuer
    self.audience = audience
    self.accountID = accountID
    self.issuedAt = issuedAt
    self.expiresAt = expiresAt
    self.authenticatedAt = authenticatedAt
    self.sessionID = sessionID
    self.methods = methods
    self.signInProvider = signInProvider
  }

  package func encoded() -> [UInt8] {
    // Most tokens are shorter. A block of 1 KiB or more would not come from malloc's cache.
    var writer = JSONWriter(reservingBytes: 896)
    writer.open(.object)
    writer.member("iss", issuer)
    writer.member("aud", audience)
    writer.member("sub", accountID)
    writer.member("iat", issuedAt)
    writer.member("exp", expiresAt)
    writer.member("auth_time", authenticatedAt)
    writer.member("sid", sessionID)
    writer.member("amr", methods)
    if let email {
      writer.member("email", email)
      writer.name("email_verified")
      writer.bool(emailVerified)
    }
    if let phoneNumber { writer.member("phone_number", phoneNumber) }
    if let name { writer.member("name", name) }
    if let picture { writer.member("picture", picture) }
    writer.name("latchkey")
    writer.open(.object)
    writer.name("identities")
    writer.open(.object)
    for identity in identities { writer.member(identity.providerID, identity.subjects) }
    writer.close(.object)
    writer.member("sign_in_provider", signInProvider)
    if let secondFactor { writer.member("sign_in_second_factor", secondFactor) }
    if let secondFactorID { writer.member("second_factor_identifier", secondFactorID) }
    writer.close(.object)
    if !customClaims.isEmpty { writer.raw(customClaims.members) }
    writer.close(.object)
    return writer.bytes
  }

  /// Reads the claims of a token that our own key ring has verified.
  package init(_ claims: JSONValue) throws(TokenError) {
    let facts = claims["latchkey"]
    guard let members = claims.members, let issuer = claims["iss"]?.string, let audience = claims["aud"]?.string,
      let accountID = claims["sub"]?.string, let issuedAt = claims["iat"]?.int, let expiresAt = claims["exp"]?.int,
      let authenticatedAt = claims["auth_time"]?.int, let sessionID = claims["sid"]?.string,
      let methods = claims["amr"]?.strings, let signInProvider = facts?["sign_in_provider"]?.string,
      let identities = facts?["identities"]?.members
    else { throw .malformed(.claims) }
    self.init(
      issuer: issuer, audience: audience, accountID: accountID, issuedAt: issuedAt, expiresAt: expiresAt,
      authenticatedAt: authenticatedAt, sessionID: sessionID, methods: methods, signInProvider: signInProvider)
    email = claims["email"]?.string
    emailVerified = claims["email_verified"]?.bool ?? false
    phoneNumber = claims["phone_number"]?.string
    name = claims["name"]?.string
    picture = claims["picture"]?.string
    self.identities = identities.map { Identity(providerID: $0.name, subjects: $0.value.strings ?? []) }
    secondFactor = facts?["sign_in_second_factor"]?.string
    secondFactorID = facts?["second_factor_identifier"]?.string
    customClaims = CustomClaims(of: members)
  }

  /// Checks issuer, audience and expiry. Our own clocks set these times, so there is no leeway. The store decides
  /// whether the session is open.
  package func check(issuer: String, audiences: [String], now: Int64) throws(TokenError) {
    guard identical(self.issuer, issuer) else { throw .wrongIssuer }
    guard audiences.contains(where: { identical($0, audience) }) else { throw .wrongAudience }
    guard now < expiresAt else { throw .expired }
  }
}
