/// Where a provider's owner serves what. Each is a setting, so that a test or a private deployment points elsewhere;
/// empty: the provider has none, or its discovery document says.
package struct Endpoints: Hashable, Sendable {
  package var authorization = ""
  package var token = ""
  /// Who the bearer of an access token is: OpenID Connect's userinfo, and its like.
  package var profile = ""
  /// For which client an access token was issued.
  package var audienceCheck = ""
  /// The person's addresses, where the profile does not have them.
  package var emails = ""
  /// The first leg of OAuth 1.0a.
  package var requestToken = ""

  package init(
    authorization: String = "", token: String = "", profile: String = "", audienceCheck: String = "",
    emails: String = "", requestToken: String = ""
  ) {
    self.authorization = authorization
    self.token = token
    self.profile = profile
    self.audienceCheck = audienceCheck
    self.emails = emails
    self.requestToken = requestToken
  }

  /// By the name of its setting.
  package var all: [(setting: String, url: String)] {
    [
      ("authorization_url", authorization), ("token_url", token), ("profile_url", profile),
      ("audience_check_url", audienceCheck), ("emails_url", emails), ("request_token_url", requestToken),
    ]
  }
}

/// Where in a provider's claims or profile what is. A dot goes one object deeper: `data.id`.
package struct ClaimNames: Hashable, Sendable {
  package var subject = "sub"
  package var email = "email"
  package var emailVerified = "email_verified"
  package var name = "name"
  package var picture = "picture"
  package var username = "preferred_username"

  package init() {}
}

/// Microsoft: whose people may come.
package struct TenantSettings: Hashable, Sendable {
  /// `common`, `organizations`, `consumers` or the id of one.
  package var tenant = "common"
  /// Ids; empty: all that `tenant` admits.
  package var allowed: Set<String> = []

  package init() {}
}
