import Crypto
import Encodings
import Fetch
import Store
import Tokens

/// What we ask Facebook's Graph: what a token is, and who its bearer is. The Graph API is published with its tokens in
/// the query, so no address of a call is ever logged.
struct FacebookGraph: Sendable {
  let applicationID: String
  let secret: Secret
  let profileURL: String
  let checkURL: String
  let calls: ProviderCalls

  struct Inspected: Hashable, Sendable {
    var subject: String
    var scopes: [String]
    /// nil: it does not end by itself.
    var expiresAt: Int64?
  }

  /// Shows with each call that whoever has the token is also who has the application's secret, so that one that leaked
  /// is of no use elsewhere.
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

  /// Everything that debug_token says of a token has to be right: whose application it was issued to (check 47), that
  /// it is a person's, and that neither it nor the consent behind it has ended.
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
    guard data["type"]?.string == "USER" else { throw .invalid(why: "debug_token: not the token of a person") }
    guard let subject = data["user_id"]?.idText, Decimal.isID(subject) else {
      throw .invalid(why: "debug_token: no user_id")
    }
    let scopes = data["scopes"]?.strings ?? []
    return Inspected(subject: subject, scopes: Array(scopes.prefix(TokenAnswer.scopesMax)), expiresAt: expiresAt)
  }

  /// In seconds since 1970; 0, and nothing, is never.
  private static func moment(_ value: JSONValue?) throws(ProviderRefusal) -> Int64? {
    guard let value else { return nil }
    guard let seconds = value.int, seconds >= 0 else { throw .unavailable(why: "debug_token: an end that is no time") }
    return seconds == 0 ? nil : seconds
  }

  /// The profile has to be of the person whom the token was issued for (check 47).
  static func subject(of profile: Document, sameAs inspected: Inspected) throws(ProviderRefusal) -> String {
    guard let subject = profile.value["id"]?.string else { throw .unavailable(why: "me: no id") }
    guard subject.utf8.elementsEqual(inspected.subject.utf8) else {
      throw .invalid(why: "the profile is of another person than the token")
    }
    return subject
  }
}

/// Facebook's errors are objects with a number (Graph API, Handle Errors).
enum FacebookErrors {
  /// Whose token the call was made with, and so whose fault it is if that is no good.
  enum Bearer { case person, application }

  static let vendor = VendorErrors { FacebookErrors.refusal($0, of: .person) }

  /// nil: no error of this kind.
  static func refusal(_ document: JSONValue, of bearer: Bearer) -> ProviderRefusal? {
    guard let error = document["error"], let code = error["code"]?.int else { return nil }
    let why = "Facebook's error \(code)"
    switch code {
    // Trouble of its own, and limits of calls.
    case 2, 4, 17, 32, 341, 613: return .unavailable(why: why)
    case 190 where bearer == .application: return .refused(why: why)
    // 463: the token has ended.
    case 190: return error["error_subcode"]?.int == 463 ? .expired : .invalid(why: why)
    // A parameter is wrong, which with us is the code, or a token to be inspected that is not our application's.
    case 100: return .invalid(why: why)
    default: return .refused(why: why)
    }
  }
}
