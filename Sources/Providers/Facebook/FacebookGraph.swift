import Crypto
import Encodings
import HTTPClient
import Store
import Tokens

/// The calls to Facebook's Graph API that inspect a token and read its bearer's profile. The API takes tokens in the
/// query, so the URL of a call is never logged.
struct FacebookGraph: Sendable {
  let applicationID: String
  let secret: Secret
  let profileURL: String
  let checkURL: String
  let calls: ProviderCalls

  struct Inspected: Hashable, Sendable {
    var subject: String
    var scopes: [String]
    /// nil if the token does not expire.
    var expiresAt: Int64?
  }

  /// Returns the proof that the bearer of a token also has the application's secret. Each call contains it, so a leaked
  /// token is useless elsewhere.
  func proof(of accessToken: String) -> String {
    String(decoding: Hexadecimal.encode(hmacSHA256(key: secret, Array(accessToken.utf8))), as: UTF8.self)
  }

  func inspect(_ accessToken: String, at now: Timestamp) async throws -> Inspected {
    try ProviderCalls.requireToken(accessToken)
    let application = applicationID + "|" + secret.revealed
    let asked = [
      Parameter("input_token", accessToken), Parameter("access_token", application),
      Parameter("appsecret_proof", proof(of: application)),
    ]
    let answer = try await calls.answer(checkURL, to: asked)
    let document = try document(answer, to: .application)
    return try FacebookGraph.read(document.value, applicationID: applicationID, at: now)
  }

  func profile(_ accessToken: String) async throws -> Document {
    let asked = [
      Parameter("fields", "id,name,email,picture"), Parameter("access_token", accessToken),
      Parameter("appsecret_proof", proof(of: accessToken)),
    ]
    let answer = try await calls.answer(profileURL, to: asked)
    return try document(answer, to: .person)
  }

  /// Removes all permissions of our application, so that all of the user's tokens end. A token that is invalid already
  /// is no failure.
  func removePermissions(of accessToken: String, at url: String) async throws {
    try ProviderCalls.requireToken(accessToken)
    let asked = [Parameter("access_token", accessToken), Parameter("appsecret_proof", proof(of: accessToken))]
    let answer = try await calls.answer(url, to: asked, by: .delete)
    let document = try? JSONValue.parse(answer.bytes, byteCountMax: ProviderCalls.documentBytesMax)
    if let document, let refusal = FacebookErrors.refusal(document, of: .person) {
      guard document["error"]?["code"]?.int == FacebookErrors.invalidToken else { throw refusal }
      return
    }
    guard answer.status == 200, document == .bool(true) || document?["success"]?.bool == true else {
      try RevocationAnswer.check(answer)
      throw ProviderRefusal.unavailable(why: "permissions: not removed")
    }
  }

  private func document(
    _ answer: FetchedBody, to bearer: FacebookErrors.Bearer
  ) throws(ProviderRefusal) -> Document {
    if (400...403).contains(answer.status),
      let document = try? JSONValue.parse(answer.bytes, byteCountMax: ProviderCalls.documentBytesMax),
      let refusal = FacebookErrors.refusal(document, of: bearer)
    {
      throw refusal
    }
    return try ProviderCalls.document(answer)
  }

  /// Checks everything that debug_token reports. Facebook must have issued the token to our application (check 47) and
  /// to a user. Neither the token nor its consent may have expired.
  static func read(
    _ document: JSONValue, applicationID: String, at now: Timestamp
  ) throws(ProviderRefusal) -> Inspected {
    guard let data = document["data"] else { throw .unavailable(why: "debug_token: no data") }
    guard let issuedTo = data["app_id"]?.idText, issuedTo.utf8.elementsEqual(applicationID.utf8) else {
      throw .invalid(why: "Facebook issued the token to another application")
    }
    let expiresAt = try moment(data["expires_at"])
    for end in [expiresAt, try moment(data["data_access_expires_at"])] {
      if let end, end <= now.seconds { throw .expired }
    }
    guard data["is_valid"]?.bool == true else { throw .invalid(why: "debug_token: not valid") }
    guard data["type"]?.string == "USER" else { throw .invalid(why: "debug_token: not a user's token") }
    guard let subject = data["user_id"]?.idText, Decimal.isID(subject) else {
      throw .invalid(why: "debug_token: no user_id")
    }
    let scopes = data["scopes"]?.strings ?? []
    return Inspected(subject: subject, scopes: Array(scopes.prefix(TokenAnswer.scopesMax)), expiresAt: expiresAt)
  }

  /// Returns a time in seconds since 1970; nil for 0 and for an absent value, which mean never.
  private static func moment(_ value: JSONValue?) throws(ProviderRefusal) -> Int64? {
    guard let value else { return nil }
    guard let seconds = value.int, seconds >= 0 else { throw .unavailable(why: "debug_token: expiry is not a time") }
    return seconds == 0 ? nil : seconds
  }

  /// Checks that the profile is that of the user for whom the token was issued (check 47).
  static func subject(of profile: Document, sameAs inspected: Inspected) throws(ProviderRefusal) -> String {
    guard let subject = profile.value["id"]?.string else { throw .unavailable(why: "me: no id") }
    guard subject.utf8.elementsEqual(inspected.subject.utf8) else {
      throw .invalid(why: "the token and the profile belong to different users")
    }
    return subject
  }
}

/// Facebook's errors, which are objects with a number (Graph API, Handle Errors).
enum FacebookErrors {
  /// The owner of the call's token. It determines who must correct an invalid token.
  enum Bearer { case person, application }

  static let invalidToken: Int64 = 190

  static let vendor = VendorErrors { FacebookErrors.refusal($0, of: .person) }

  /// Returns nil if the document is not such an error.
  static func refusal(_ document: JSONValue, of bearer: Bearer) -> ProviderRefusal? {
    guard let error = document["error"], let code = error["code"]?.int else { return nil }
    let why = "Facebook's error \(code)"
    switch code {
    // Internal errors and rate limits.
    case 2, 4, 17, 32, 341, 613: return .unavailable(why: why)
    case invalidToken where bearer == .application: return .refused(why: why)
    // 463: the token has expired.
    case invalidToken: return error["error_subcode"]?.int == 463 ? .expired : .invalid(why: why)
    // A parameter is invalid: the code, or an inspected token of another application.
    case 100: return .invalid(why: why)
    default: return .refused(why: why)
    }
  }
}
