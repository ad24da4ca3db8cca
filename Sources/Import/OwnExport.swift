import Encodings
import Tokens

extension FirebaseUser {
  /// Returns whether `latchkey export` wrote this line.
  static func isOwnLine(_ line: [UInt8]) -> Bool {
    guard let json = try? JSONValue.parse(line, byteCountMax: FirebaseExport.userBytesMax) else { return false }
    return json["account_id"] != nil && json["users"] == nil
  }

  /// Returns whether this is the report at the end of `latchkey export --json`.
  static func isReport(_ json: JSONValue) -> Bool { json["outcome"] != nil && json["account_id"] == nil }

  /// - Parameter ownLine: one line of `latchkey export`.
  init(ownLine json: JSONValue, nowMillis: Int64) throws(UserError) {
    var user = try Members(json, path: "", nowMillis: nowMillis)
    id = try user.text("account_id")
    do throws(UserError) {
      guard !id.isEmpty else { throw UserError("account_id", "It is missing.") }
      try readOwn(&user)
      try user.finish(rejectsAll: true)
    } catch {
      var error = error
      error.id = id
      throw error
    }
    leftOut.formUnion(user.leftOut)
  }

  private mutating func readOwn(_ user: inout Members) throws(UserError) {
    guard try !user.flag("anonymous") else {
      throw UserError("anonymous", "Only its session opens an anonymous account, and an export has no sessions.")
    }
    email = try user.text("email")
    emailVerified = try user.flag("email_verified")
    disabled = try user.flag("disabled")
    // The text of the hash, as the store keeps it.
    passwordHash = Array(try user.text("password_hash").utf8)
    phoneNumber = try user.text("phone_number")
    customClaimsJSON = try user.text("custom_claims_json")
    displayName = user.optionalText("display_name")
    photoURL = user.optionalText("photo_url")
    createdAtMillis = user.millis("created_at")
    lastSignedInAtMillis = user.millis("last_sign_in_at")
    for entry in try user.list("providers") { try readOwnProvider(entry, &user) }
    for entry in try user.list("second_factors") { try readOwnFactor(entry, &user) }
  }

  private mutating func readOwnProvider(_ entry: Member, _ user: inout Members) throws(UserError) {
    var provider = try user.members(of: entry)
    var read = Provider(
      providerID: try provider.text("provider_id"), subject: try provider.text("subject"),
      email: provider.optionalText("email"), displayName: provider.optionalText("display_name"),
      photoURL: provider.optionalText("photo_url"))
    read.passkeyRecord = try provider.text("passkey_record")
    _ = provider.take("linked_at")
    try provider.finish(rejectsAll: true)
    // Other members contain these.
    if !["password", "phone", "emailLink"].contains(read.providerID) { providers.append(read) }
  }

  private mutating func readOwnFactor(_ entry: Member, _ user: inout Members) throws(UserError) {
    var factor = try user.members(of: entry)
    let kind = try factor.text("kind")
    guard kind != "recovery_code" else {
      leftOut.insert(entry.name + ".recovery_code")
      return
    }
    switch kind {
    case "phone": try readPhone(&factor, entry)
    case "passkey": try readPasskey(&factor, entry)
    default: throw UserError(entry.name, "Only phones and passkeys can be imported as second factors.")
    }
    try factor.finish(rejectsAll: true)
    leftOut.formUnion(factor.leftOut)
  }

  private mutating func readPasskey(_ factor: inout Members, _ entry: Member) throws(UserError) {
    _ = try factor.text("masked_phone_number")
    let record = try factor.text("passkey_record")
    guard !record.isEmpty else {
      throw UserError(entry.name + ".passkey_record", "It is missing. Export again with --secrets.")
    }
    passkeyFactors.append(
      PasskeyFactor(
        id: try factor.text("factor_id"), passkeyRecord: record, displayName: factor.optionalText("display_name"),
        enrolledAtMillis: factor.millis("enrolled_at")))
  }

  private mutating func readPhone(_ factor: inout Members, _ entry: Member) throws(UserError) {
    let number = try factor.text("masked_phone_number")
    guard !number.contains("*") else {
      throw UserError(entry.name + ".masked_phone_number", "The phone number is masked. Export again with --secrets.")
    }
    phoneFactors.append(
      PhoneFactor(
        id: try factor.text("factor_id"), phoneNumber: number, displayName: factor.optionalText("display_name"),
        enrolledAtMillis: factor.millis("enrolled_at")))
  }
}
