internal import Callers
internal import Encodings
internal import Identity
internal import Store
internal import Text
internal import API

/// Validation of request fields before any lookup. Errors name the missing, too long or malformed field.
///
/// Limits are in bytes of UTF-8. API has already rejected invalid UTF-8 and U+0000.
enum Shape {
  static let tokenBytesMax = 16_384
  /// Handles (pending tokens, IDs of flows and verifications, codes in links) have 43 bytes. The limit leaves room for
  /// longer handles of later versions.
  static let handleBytesMax = 128
  static let idempotencyKeyBytesMax = 255
  /// A redirect contains an authorization code, and for some providers also an ID token.
  static let callbackURIBytesMax = 20_480
  static let scopesMax = 32
  static let scopeBytesMax = 256
  static let customParametersMax = 20
  static let customParameterBytesMax = 1_024
  static let loginHintBytesMax = 320
  static let bindingBytes = 16...256
  static let displayNameBytesMax = ProfileLimits.displayNameBytesMax
  /// The limit for names from providers. Imports need the same limit to accept every exported account.
  static let importedNameBytesMax = 1_024
  static let urlBytesMax = ProfileLimits.urlBytesMax
  static let providerIDBytesMax = 72
  static let subjectBytesMax = 255
  static let userJSONBytesMax = 4_096
  static let accountIDBytesMax = 128
  /// A user has few providers. All tokens together are within the limit of a message.
  static let tokensToRevokeMax = 8
  /// A page token is an account ID in base64url. The limit leaves room for longer tokens of later versions.
  static let pageTokenBytesMax = 256
  /// A longer user agent is truncated.
  static let userAgentBytesMax = 512
  /// A longer device ID is replaced by its digest.
  static let deviceIDBytesMax = 128
  static let factorIDBytesMax = 128
  static let sessionIDBytesMax = 128
  static let signingKeyIDBytesMax = 128
  /// A recovery code has 19 bytes. The limit leaves room for spaces and for digits of other scripts.
  static let codeBytesMax = 128
  /// The upper bound of the policy's limit, far above any useful password length.
  static let passwordBytesMax = 1_024
  /// The maximum number of `keep` entries, more than any two accounts have conflicts.
  static let keepMax = 64

  static func invalid(_ field: String, _ hint: String) -> Failure { Failure(.invalidField, field: field, hint: hint) }

  static func text(_ text: String, _ field: String, bytesMax: Int) throws -> String {
    guard text.utf8.count <= bytesMax else { throw invalid(field, "Send at most \(bytesMax) bytes.") }
    return text
  }

  static func required(_ text: String, _ field: String, bytesMax: Int) throws -> String {
    guard !text.isEmpty else { throw invalid(field, "Set this field; it must not be empty.") }
    return try Shape.text(text, field, bytesMax: bytesMax)
  }

  static func token(_ token: String, _ field: String) throws -> String {
    try required(token, field, bytesMax: tokenBytesMax)
  }

  static func accountID(_ id: String, _ field: String) throws -> String {
    try required(id, field, bytesMax: accountIDBytesMax)
  }

  /// Validates the purpose of a flow or code. Linking and reauthentication require an ID token.
  static func purpose(_ purpose: ProofPurpose?, idToken: String) throws -> FlowPurpose {
    if purpose == .link || purpose == .reauthenticate { _ = try token(idToken, "id_token") }
    return switch purpose {
    case .unspecified, .signIn: .signIn
    case .link: .link
    case .reauthenticate: .reauthenticate
    case nil: throw invalid("purpose", "Set purpose to a value of ProofPurpose.")
    }
  }

  /// Validates text that programs display, and removes its control characters.
  static func shown(_ text: String, _ field: String, bytesMax: Int) throws -> String {
    try Shape.text(ShownText.cleaned(text), field, bytesMax: bytesMax)
  }

  /// Validates an HTTP URL, which may be empty. Another scheme, such as `javascript:`, could run code in a page.
  static func webURL(_ url: String, _ field: String) throws -> String {
    let url = ShownText.withoutControls(try text(url, field, bytesMax: urlBytesMax))
    guard url.isEmpty || url.hasPrefix("https://") || url.hasPrefix("http://") else {
      throw invalid(field, "Send a URL that begins with https:// or http://.")
    }
    return url
  }

  static func email(_ address: String, _ field: String) throws -> String {
    do {
      return try normaliseEmail(address)
    } catch {
      throw Failure(.invalidEmail, field: field, hint: "Send a valid email address.")
    }
  }

  /// Validates an email address that the service must be able to send email to.
  static func mailableEmail(_ address: String, _ field: String, _ policy: Policy) throws -> String {
    let email = try email(address, field)
    guard policy.mailsUTF8Mailboxes || !needsSMTPUTF8(email) else {
      throw Failure(
        .invalidEmail, field: field,
        hint: "Use only ASCII before the @, because the mail relay does not support SMTPUTF8.")
    }
    return email
  }

  static func phoneNumber(_ number: String, _ field: String) throws -> String {
    do {
      return try e164(number)
    } catch {
      throw Failure(
        .invalidPhoneNumber, field: field,
        hint: "Begin the phone number with + and its country code (E.164), such as +14155550101.")
    }
  }

  static func password(_ password: String, _ field: String) throws -> String {
    _ = try required(password, field, bytesMax: passwordBytesMax)
    return normalisePassword(password)
  }

  /// Validates a credential.
  ///
  /// - Parameter setsPassword: normalises the password, because the account stores it. A password that is only compared
  ///   keeps its typed form, because an imported hash may be of that form.
  static func credential(_ credential: API.Credential?, setsPassword: Bool = false) throws -> Identity.Credential {
    guard let kind = credential?.kind else { throw invalid("credential", "Set one of the fields of credential.") }
    switch kind {
    case .password(let password):
      let field = "credential.password.password"
      return .password(
        email: try email(password.email, "credential.password.email"),
        password: setsPassword
          ? try Shape.password(password.password, field)
          : try required(password.password, field, bytesMax: passwordBytesMax))
    case .providerToken(let token): return .providerToken(try providerToken(token))
    case .customToken(let token): return .customToken(try Shape.token(token.token, "credential.custom_token.token"))
    case .anonymous: return .anonymous
    case .pendingToken(let handle):
      return .pendingToken(try required(handle, "credential.pending_token", bytesMax: handleBytesMax))
    case .authorizationResponse(let response):
      let path = "credential.authorization_response."
      return .authorizationResponse(
        Identity.AuthorizationResponse(
          flowID: try required(response.flowID, path + "flow_id", bytesMax: handleBytesMax),
          callbackURI: try required(response.callbackURI, path + "callback_uri", bytesMax: callbackURIBytesMax)))
    case .phoneCode(let code):
      let path = "credential.phone_code."
      return .phoneCode(
        verificationID: try required(code.verificationID, path + "verification_id", bytesMax: handleBytesMax),
        digits: try required(code.code, path + "code", bytesMax: codeBytesMax))
    case .passkey(let credential): return .passkey(try passkey(credential))
    case .emailCode(let code):
      let path = "credential.email_code."
      return .emailCode(
        EmailDigits(
          verificationID: try required(code.verificationID, path + "verification_id", bytesMax: handleBytesMax),
          digits: try required(code.code, path + "code", bytesMax: codeBytesMax), field: path + "code"))
    case .emailLink(let link):
      let path = "credential.email_link."
      return .emailLink(
        email: try email(link.email, path + "email"),
        code: try required(link.code, path + "code", bytesMax: handleBytesMax))
    }
  }

  private static func providerToken(_ token: API.ProviderTokenCredential) throws -> Identity.ProviderToken {
    let path = "credential.provider_token."
    let presented = ProviderToken(
      providerID: try required(token.providerID, path + "provider_id", bytesMax: providerIDBytesMax),
      idToken: try text(token.idToken, path + "id_token", bytesMax: tokenBytesMax),
      accessToken: try text(token.accessToken, path + "access_token", bytesMax: tokenBytesMax),
      tokenSecret: try text(token.tokenSecret, path + "token_secret", bytesMax: tokenBytesMax),
      rawNonce: try text(token.rawNonce, path + "raw_nonce", bytesMax: subjectBytesMax),
      userJSON: try text(token.userJSON, path + "user_json", bytesMax: userJSONBytesMax))
    guard !presented.idToken.isEmpty || !presented.accessToken.isEmpty else {
      throw invalid(path + "id_token", "Set id_token or access_token.")
    }
    guard presented.userJSON.isEmpty || presented.providerID == "apple.com" else {
      throw invalid(path + "user_json", "Leave user_json empty: only apple.com has it.")
    }
    return presented
  }

  static func binding(_ binding: String) throws -> [UInt8]? {
    guard !binding.isEmpty else { return nil }
    guard bindingBytes.contains(binding.utf8.count) else {
      throw invalid(
        "binding",
        "Send \(bindingBytes.lowerBound) to \(bindingBytes.upperBound) bytes that an attacker cannot guess.")
    }
    return Array(binding.utf8)
  }
}
