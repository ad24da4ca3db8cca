import Encodings
import Tokens

/// Why a row cannot be imported, with its invalid member.
package struct UserError: Error, Hashable, Sendable {
  /// The account's id; empty if it could not be read.
  package var id = ""
  /// The member's name in the file; empty if the row as a whole cannot be read.
  package var field: String
  package var why: String

  init(_ field: String, _ why: String) {
    self.field = field
    self.why = why
  }
}

/// One user of a file, as Firebase's `auth:export`, its Admin SDK or `latchkey export` writes it. Texts are unchanged.
///
/// Members that matter to sign-in or security are read strictly. A wrong type, or an unknown member with a similar
/// name, rejects the row and names the member. A member that only informs is omitted and named in `leftOut`.
package struct FirebaseUser: Hashable, Sendable {
  package struct Provider: Hashable, Sendable {
    package var providerID: String
    package var subject: String
    package var email = ""
    package var displayName = ""
    package var photoURL = ""
    /// The record of a passkey, from our own export.
    package var passkeyRecord = ""
  }

  package struct PasskeyFactor: Hashable, Sendable {
    package var id: String
    package var passkeyRecord: String
    package var displayName: String
    package var enrolledAtMillis: Int64?
  }

  package struct PhoneFactor: Hashable, Sendable {
    package var id: String
    package var phoneNumber: String
    package var displayName: String
    package var enrolledAtMillis: Int64?
  }

  package var id = ""
  package var email = ""
  package var emailVerified = false
  package var passwordHash: [UInt8] = []
  package var salt: [UInt8] = []
  package var displayName = ""
  package var photoURL = ""
  package var phoneNumber = ""
  package var disabled = false
  package var createdAtMillis: Int64?
  package var lastSignedInAtMillis: Int64?
  package var customClaimsJSON = ""
  /// Without `password` and `phone`, which repeat members of the user.
  package var providers: [Provider] = []
  package var phoneFactors: [PhoneFactor] = []
  /// Of Latchkey's own export only.
  package var passkeyFactors: [PasskeyFactor] = []
  /// Names of members that were not understood, each once.
  package var leftOut: Set<String> = []

  /// - Parameter nowMillis: upper bound of a user's timestamps.
  package init(_ bytes: [UInt8], nowMillis: Int64) throws(UserError) {
    let (json, texts) = try FirebaseUser.parse(bytes)
    try self.init(json, texts: texts, nowMillis: nowMillis)
  }

  static func parse(_ bytes: [UInt8]) throws(UserError) -> (JSONValue, [JSONMemberText]) {
    do {
      return try JSONValue.parseWithTexts(bytes, byteCountMax: FirebaseExport.userBytesMax, .replaced)
    } catch {
      if case .duplicateName(let name) = error { throw UserError(name, "The member occurs twice.") }
      throw UserError("", "The user is not valid JSON: \(error).")
    }
  }

  /// - Parameter texts: source texts of the members of `json`; empty if it was not parsed from text.
  init(_ json: JSONValue, texts: [JSONMemberText] = [], nowMillis: Int64) throws(UserError) {
    var user = try Members(json, path: "", nowMillis: nowMillis)
    id = try user.text("localId", "uid")
    do throws(UserError) {
      if user.holds("localId", "uid"), id.isEmpty { throw UserError("localId", "It must not be empty.") }
      try read(&user, texts)
      try user.finish(important: FirebaseUser.important, stems: FirebaseUser.stems, harmless: FirebaseUser.harmless)
    } catch {
      var error = error
      error.id = id
      throw error
    }
    leftOut.formUnion(user.leftOut)
  }

  private mutating func read(_ user: inout Members, _ texts: [JSONMemberText]) throws(UserError) {
    email = try user.text("email")
    emailVerified = try user.flag("emailVerified")
    disabled = try user.flag("disabled")
    passwordHash = try user.bytes("passwordHash")
    guard passwordHash != Array("REDACTED".utf8) else {
      throw UserError("passwordHash", "The Admin SDK could not read it. Export again with permission to read hashes.")
    }
    salt = try user.bytes("salt", "passwordSalt")
    phoneNumber = try user.text("phoneNumber")
    customClaimsJSON = try user.claims("customAttributes", "customClaims", texts)
    displayName = user.optionalText("displayName")
    photoURL = user.optionalText("photoUrl", "photoURL")
    createdAtMillis = user.millis("createdAt")
    lastSignedInAtMillis = user.millis("lastSignedInAt", "lastLoginAt")
    if let metadata = user.take("metadata") { readTimes(of: metadata, &user) }
    for entry in try user.list("providerUserInfo", "providerData") { try readProvider(entry, &user) }
    for entry in try user.list("mfaInfo") { try readFactor(entry, &user) }
    if let factors = user.take("multiFactor") {
      var nested = try user.members(of: factors)
      for entry in try nested.list("enrolledFactors") { try readFactor(entry, &user) }
      try nested.finish(rejectsAll: true)
    }
  }

  /// Reads the timestamps, which the Admin SDK writes into a separate object.
  private mutating func readTimes(of metadata: Member, _ user: inout Members) {
    guard var times = try? user.members(of: metadata) else {
      user.leaveOut(metadata.name)
      return
    }
    createdAtMillis = createdAtMillis ?? times.millis("creationTime")
    lastSignedInAtMillis = lastSignedInAtMillis ?? times.millis("lastSignInTime")
    _ = times.take("lastRefreshTime")
    times.leaveOutRest()
    leftOut.formUnion(times.leftOut)
  }

  private mutating func readProvider(_ entry: Member, _ user: inout Members) throws(UserError) {
    var provider = try user.members(of: entry)
    let providerID = try provider.text("providerId")
    let subject = try provider.text("rawId", "uid")
    guard !providerID.isEmpty else { throw UserError(entry.name + ".providerId", "It is missing.") }
    guard !subject.isEmpty else { throw UserError(entry.name + ".rawId", "It is missing.") }
    let read = Provider(
      providerID: providerID, subject: subject, email: provider.optionalText("email"),
      displayName: provider.optionalText("displayName"), photoURL: provider.optionalText("photoUrl", "photoURL"))
    try provider.finish(
      important: ["providerId", "rawId", "uid"], harmless: ["federatedId", "screenName", "phoneNumber"])
    leftOut.formUnion(provider.leftOut)
    if providerID == "phone", phoneNumber.isEmpty {
      throw UserError("phoneNumber", "It is missing, but a provider entry has a phone number.")
    }
    if providerID != "password", providerID != "phone" { providers.append(read) }
  }

  private mutating func readFactor(_ entry: Member, _ user: inout Members) throws(UserError) {
    var factor = try user.members(of: entry)
    let kind = try factor.text("factorId")
    let number = try factor.text("phoneInfo", "phoneNumber")
    guard !number.isEmpty, kind.isEmpty || kind == "phone" else {
      throw UserError(entry.name, "Only phone factors can be imported.")
    }
    phoneFactors.append(
      PhoneFactor(
        id: try factor.text("mfaEnrollmentId", "uid"), phoneNumber: number,
        displayName: factor.optionalText("displayName"),
        enrolledAtMillis: factor.millis("enrolledAt", "enrollmentTime")))
    _ = factor.take("unobfuscatedPhoneInfo")
    try factor.finish(rejectsAll: true)
    leftOut.formUnion(factor.leftOut)
  }

  // MARK: names

  private static let important = [
    "localId", "uid", "email", "emailVerified", "passwordHash", "salt", "passwordSalt", "phoneNumber", "disabled",
    "customAttributes", "customClaims", "providerUserInfo", "providerData", "mfaInfo", "multiFactor",
  ]

  /// Parts of names that concern sign-in or security.
  private static let stems = [
    "disab", "suspend", "block", "lock", "banned", "mfa", "factor", "totp", "otp", "claim", "attribute", "role",
    "permission", "password", "hash", "salt", "verif", "provider", "identit", "phone", "email", "credential", "passkey",
  ]

  /// Members of Firebase's export that do not affect later sign-ins.
  private static let harmless: Set<String> = [
    "passwordUpdatedAt", "validSince", "tokensValidAfterTime", "emailLinkSignin", "initialEmail", "customAuth",
    "lastRefreshAt", "tenantId", "version", "screenName", "kind", "language", "timeZone", "dateOfBirth",
  ]
}
