/// The URLs of a provider's endpoints. Each is a setting, so that a test or a private deployment can use others. An
/// endpoint is empty if the provider has none, or if its discovery document names it.
package struct Endpoints: Hashable, Sendable {
  package var authorization = ""
  package var token = ""
  /// Returns the profile of an access token's bearer: OpenID Connect's userinfo, and similar endpoints.
  package var profile = ""
  /// Reports for which client an access token was issued.
  package var audienceCheck = ""
  /// Returns the user's email addresses, if the profile does not contain them.
  package var emails = ""
  /// The first step of OAuth 1.0a.
  package var requestToken = ""
  /// Revokes a token of the provider (RFC 7009, or a call of the provider's own).
  package var revocation = ""

  package init(
    authorization: String = "", token: String = "", profile: String = "", audienceCheck: String = "",
    emails: String = "", requestToken: String = "", revocation: String = ""
  ) {
    self.authorization = authorization
    self.token = token
    self.profile = profile
    self.audienceCheck = audienceCheck
    self.emails = emails
    self.requestToken = requestToken
    self.revocation = revocation
  }

  /// All endpoints with the names of their settings.
  package var all: [(setting: String, url: String)] {
    [
      ("authorization_url", authorization), ("token_url", token), ("profile_url", profile),
      ("audience_check_url", audienceCheck), ("emails_url", emails), ("request_token_url", requestToken),
      ("revocation_url", revocation),
    ]
  }
}

/// The names of members in a provider's claims or profile. A dot goes one object deeper: `data.id`.
package struct ClaimNames: Hashable, Sendable {
  package var subject = "sub"
  package var email = "email"
  package var emailVerified = "email_verified"
  package var name = "name"
  package var picture = "picture"
  package var username = "preferred_username"

  package init() {}
}

/// Microsoft: the tenants whose users may sign in.
package struct TenantSettings: Hashable, Sendable {
  /// `common`, `organizations`, `consumers` or a tenant id.
  package var tenant = "common"
  /// Tenant ids; empty: all that `tenant` admits.
  package var allowed: Set<String> = []

  package init() {}
}
