internal import Admission
internal import Encodings
internal import Identity
internal import Store
internal import Text
internal import API

/// The shape of a request, before any look-up: what is missing, too long or not what it should be is refused with the
/// field's name. Limits are in bytes of UTF-8; text that nobody writes was refused by API.
enum Shape {
  static let tokenBytesMax = 16_384
  /// A handle has 43; some room for what a later version may make of it.
  static let handleBytesMax = 128
  static let idempotencyKeyBytesMax = 255
  /// A provider's redirect carries its code, and some carry an ID token beside it.
  static let callbackURIBytesMax = 20_480
  static let scopesMax = 32
  static let scopeBytesMax = 256
  static let customParametersMax = 20
  static let customParameterBytesMax = 1_024
  static let loginHintBytesMax = 320
  static let bindingBytes = 16...256
  static let displayNameBytesMax = 256
  /// A name that a provider said has up to so many, and every exported account can be imported.
  static let importedNameBytesMax = 1_024
  static let urlBytesMax = 2_048
  static let providerIDBytesMax = 72
  static let subjectBytesMax = 255
  static let accountIDBytesMax = 128
  /// An account id in base64url, and some room for what a later version may make of it.
  static let pageTokenBytesMax = 256
  /// More than this is cut.
  static let userAgentBytesMax = 512
  /// More than this is replaced by its digest.
  static let deviceIDBytesMax = 128
  static let factorIDBytesMax = 128
  /// A recovery code has 19; some room for spaces, and for digits of other scripts.
  static let codeBytesMax = 128
  /// Far above what is worth hashing; the policy's own limit is at most this.
  static let passwordBytesMax = 1_024
  /// More than any two accounts have conflicts.
  static let keepMax = 64

  static func invalid(_ field: String, _ hint: String) -> Failure { Failure(.invalidField, field: field, hint: hint) }

  static func text(_ text: String, _ field: String, bytesMax: Int) throws -> String {
    guard text.utf8.count <= bytesMax else { throw invalid(field, "At most \(bytesMax) bytes.") }
    return text
  }

  static func required(_ text: String, _ field: String, bytesMax: Int) throws -> String {
    guard !text.isEmpty else { throw invalid(field, "It must not be empty.") }
    return try Shape.text(text, field, bytesMax: bytesMax)
  }

  static func token(_ token: String, _ field: String) throws -> String {
    try required(token, field, bytesMax: tokenBytesMax)
  }

  static func accountID(_ id: String, _ field: String) throws -> String {
    try required(id, field, bytesMax: accountIDBytesMax)
  }

  /// What a flow or a code is for; linking and reauthenticating are done in a session.
  static func purpose(_ purpose: ProofPurpose?, idToken: String) throws -> FlowPurpose {
    if purpose == .link || purpose == .reauthenticate { _ = try token(idToken, "id_token") }
    return switch purpose {
    case .unspecified, .signIn: .signIn
    case .link: .link
    case .reauthenticate: .reauthenticate
    case nil: throw invalid("purpose", "There is no such purpose.")
    }
  }

  /// Text that programs show to users, without its control characters.
  static func shown(_ text: String, _ field: String, bytesMax: Int) throws -> String {
    try Shape.text(ShownText.cleaned(text), field, bytesMax: bytesMax)
  }

  /// Empty, or a web address: anything else (`javascript:`) could run where a page shows it.
  static func webURL(_ url: String, _ field: String) throws -> String {
    let url = ShownText.withoutControls(try text(url, field, bytesMax: urlBytesMax))
    guard url.isEmpty || url.hasPrefix("https://") || url.hasPrefix("http://") else {
      throw invalid(field, "It must begin with https:// or http://.")
    }
    return url
  }

  static func email(_ address: String, _ field: String) throws -> String {
    do {
      return try normaliseEmail(address)
    } catch {
      throw Failure(.invalidEmail, field: field, hint: "It is not an e-mail address that can be used here.")
    }
  }

  /// An address for mail, or for an account.
  static func mailableEmail(_ address: String, _ field: String, _ policy: Policy) throws -> String {
    let email = try email(address, field)
    guard policy.mailsUTF8Mailboxes || !needsSMTPUTF8(email) else {
      throw Failure(
        .invalidEmail, field: field,
        hint: "Mail cannot be sent to it: the part before the @ must be ASCII, since the mail relay has no SMTPUTF8.")
    }
    return email
  }

  static func phoneNumber(_ number: String, _ field: String) throws -> String {
    do {
      return try e164(number)
    } catch {
      throw Failure(
        .invalidPhoneNumber, field: field,
        hint: "Begin the number with + and its country code (E.164), such as +14155550101.")
    }
  }

  static func password(_ password: String, _ field: String) throws -> String {
    _ = try required(password, field, bytesMax: passwordBytesMax)
    return normalisePassword(password)
  }

  /// - Parameter setsPassword: a password is to be kept, and so comes in its normal form. One that is only compared
  ///   stays as it was typed: an imported hash may be of exactly that.
  static func credential(_ credential: API.Credential?, setsPassword: Bool = false) throws -> Identity.Credential {
    guard let kind = credential?.kind else { throw invalid("credential", "It must be one of its kinds.") }
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
      rawNonce: try text(token.rawNonce, path + "raw_nonce", bytesMax: subjectBytesMax))
    guard !presented.idToken.isEmpty || !presented.accessToken.isEmpty else {
      throw invalid(path + "id_token", "An ID token or an access token must be given.")
    }
    return presented
  }

  static func binding(_ binding: String) throws -> [UInt8]? {
    guard !binding.isEmpty else { return nil }
    guard bindingBytes.contains(binding.utf8.count) else {
      throw invalid("binding", "\(bindingBytes.lowerBound) to \(bindingBytes.upperBound) bytes that nobody can guess.")
    }
    return Array(binding.utf8)
  }
}
