import Testing

@testable import Import

private let nowMillis: Int64 = 1_800_000_000_000

private func user(_ text: String) throws -> FirebaseUser { try FirebaseUser(Array(text.utf8), nowMillis: nowMillis) }

private func error(_ body: () throws -> FirebaseUser?) -> UserError? {
  do {
    _ = try body()
    return nil
  } catch {
    return error as? UserError
  }
}

@Test func `a user is read with every exported field`() throws {
  let user = try user(#"""
    {"localId": "u1", "email": "Ada@example.com", "emailVerified": true, "passwordHash": "-_8=", "salt": "+/8=",
     "displayName": "Ada \u00e9", "photoUrl": "https://p/1", "phoneNumber": "+441632960961", "disabled": true,
     "createdAt": "1500000000123", "lastSignedInAt": "1600000000456", "customAttributes": "{\"a\":1}",
     "providerUserInfo": [
       {"providerId": "password", "rawId": "Ada@example.com"}, {"providerId": "phone", "rawId": "+441632960961"},
       {"providerId": "google.com", "rawId": "g1", "email": "a@g.com", "displayName": "A", "photoUrl": "https://p/2"}],
     "mfaInfo": [{"mfaEnrollmentId": "m1", "phoneInfo": "+441632960962", "displayName": "mine",
       "enrolledAt": "2020-02-29T12:34:56.789Z"}]}
    """#)
  #expect(user.id == "u1" && user.email == "Ada@example.com" && user.emailVerified && user.disabled)
  #expect(user.passwordHash == [0xfb, 0xff] && user.salt == [0xfb, 0xff])
  #expect(user.displayName == "Ada é" && user.photoURL == "https://p/1" && user.phoneNumber == "+441632960961")
  #expect(user.createdAtMillis == 1_500_000_000_123 && user.lastSignedInAtMillis == 1_600_000_000_456)
  #expect(user.customClaimsJSON == #"{"a":1}"#)
  #expect(user.providers.map(\.providerID) == ["google.com"] && user.providers.first?.subject == "g1")
  #expect(user.phoneFactors.map(\.phoneNumber) == ["+441632960962"])
  #expect(user.phoneFactors.first?.enrolledAtMillis == 1_582_979_696_789)
  #expect(user.leftOut.isEmpty)
}

@Test func `a user record of the Admin SDK is read completely`() throws {
  let user = try user(#"""
    {"uid": "u4", "email": "u4@example.com", "emailVerified": true, "disabled": true, "photoURL": "https://p/1",
     "customClaims": {"role" : "editor", "n": 1.50}, "passwordHash": "+/8=", "passwordSalt": "/w==",
     "metadata": {"creationTime": "Thu, 02 Jan 2020 03:04:05 GMT", "lastSignInTime": "2021-01-02T03:04:05Z",
       "lastRefreshTime": null},
     "providerData": [{"providerId": "google.com", "uid": "1234567890", "email": "u4@example.com",
       "photoURL": "https://p/2"}],
     "multiFactor": {"enrolledFactors": [{"uid": "m1", "factorId": "phone", "phoneNumber": "+441632960962",
       "enrollmentTime": "Thu, 02 Jan 2020 03:04:05 GMT"}]},
     "tenantId": null, "tokensValidAfterTime": "Thu, 02 Jan 2020 03:04:05 GMT"}
    """#)
  #expect(user.id == "u4" && user.emailVerified && user.disabled && user.photoURL == "https://p/1")
  #expect(user.customClaimsJSON == #"{"role" : "editor", "n": 1.50}"#)
  #expect(user.passwordHash == [0xfb, 0xff] && user.salt == [0xff])
  #expect(user.createdAtMillis == 1_577_934_245_000 && user.lastSignedInAtMillis == 1_609_556_645_000)
  #expect(user.providers.map(\.subject) == ["1234567890"] && user.providers.first?.photoURL == "https://p/2")
  #expect(user.phoneFactors.map(\.id) == ["m1"] && user.leftOut == ["tokensValidAfterTime"])
}

@Test(arguments: [
  (#""disabled": "true""#, "disabled"), (#""disabled": 1"#, "disabled"), (#""disabled": ["x"]"#, "disabled"),
  (#""emailVerified": "yes""#, "emailVerified"), (#""email": 1"#, "email"), (#""email": {}"#, "email"),
  (#""phoneNumber": 441632960961"#, "phoneNumber"), (#""passwordHash": 1"#, "passwordHash"),
  (#""passwordHash": "?""#, "passwordHash"), (#""passwordHash": "UkVEQUNURUQ=""#, "passwordHash"),
  (#""salt": []"#, "salt"), (#""customAttributes": ["a"]"#, "customAttributes"),
  (#""customClaims": true"#, "customClaims"), (#""providerUserInfo": {}"#, "providerUserInfo"),
  (#""providerUserInfo": ["google.com"]"#, "providerUserInfo"), (#""providerUserInfo": [{}]"#,
  "providerUserInfo.providerId"),
  (#""providerUserInfo": [{"providerId": "google.com"}]"#, "providerUserInfo.rawId"),
  (#""providerUserInfo": [{"providerId": "google.com", "rawId": 12}]"#, "providerUserInfo.rawId"),
  (#""providerUserInfo": [{"providerId": "google.com", "raw_id": "12", "uid": "1"}]"#, "providerUserInfo.raw_id"),
  (#""providerData": [{"providerId": 1, "uid": "1"}]"#, "providerData.providerId"),
  (#""providerUserInfo": [{"providerId": "phone", "rawId": "+441632960961"}]"#, "phoneNumber"),
  (#""mfaInfo": {}"#, "mfaInfo"), (#""mfaInfo": [{"totpInfo": {}}]"#, "mfaInfo"),
  (#""mfaInfo": [{"phoneInfo": 1}]"#, "mfaInfo.phoneInfo"),
  (#""mfaInfo": [{"phoneInfo": "+441632960962", "emailInfo": {}}]"#, "mfaInfo.emailInfo"),
  (#""multiFactor": []"#, "multiFactor"), (#""multiFactor": {"factors": []}"#, "multiFactor.factors"),
  (#""multiFactor": {"enrolledFactors": [{"factorId": "totp", "uid": "m"}]}"#, "multiFactor.enrolledFactors"),
  // Unknown names that resemble or concern known ones.
  (#""mfa_info": []"#, "mfa_info"), (#""Disabled": true"#, "Disabled"), (#""email_verified": true"#, "email_verified"),
  (#""custom_attributes": "{}""#, "custom_attributes"), (#""LocalId": "x""#, "LocalId"), (#""isBlocked": true"#,
  "isBlocked"),
  (#""suspended": true"#, "suspended"), (#""roles": []"#, "roles"), (#""hashVersion": 1"#, "hashVersion"),
  // Two names for the same field, and the same name twice.
  (#""customAttributes": "{}", "customClaims": {}"#, "customClaims"), (#""uid": "other""#, "uid"),
  (#""disabled": false, "disabled": true"#, "disabled"),
])
func `an unknown field that matters to sign-in or security rejects the row and is named`(
  member: String, field: String
) {
  let error = error { try user(#"{"localId": "u1", \#(member)}"#) }
  #expect(error?.field == field)
  // The error names the row if the parser has read its id.
  #expect(["u1", ""].contains(error?.id) && error?.why.isEmpty == false)
}

@Test(arguments: [#"{"localId": 12}"#, #"{"uid": ["x"]}"#, #"{"localId": ""}"#])
func `an id that is not text is rejected`(text: String) {
  #expect(["localId", "uid"].contains(error { try user(text) }?.field))
}

@Test(arguments: [
  (#""photoUrl": 1"#, ["photoUrl"]), (#""displayName": {}"#, ["displayName"]), (#""createdAt": "soon""#, ["createdAt"]),
  (#""createdAt": -1"#, ["createdAt"]), (#""createdAt": "9999999999999999""#, ["createdAt"]),
  (#""lastSignedInAt": 1.5"#, ["lastSignedInAt"]), (#""metadata": "x""#, ["metadata"]),
  (#""favouriteColour": "red""#, ["favouriteColour"]),
  (#""tenantId": "t", "validSince": "1", "version": 2"#, ["tenantId", "validSince", "version"]),
  (#""photo_url": "https://p""#, ["photo_url"]),
  (#""providerUserInfo": [{"providerId": "g", "rawId": "1", "photoUrl": 1, "federatedId": "x", "colour": "red"}]"#,
   ["providerUserInfo.photoUrl", "providerUserInfo.federatedId", "providerUserInfo.colour"]),
  (#""mfaInfo": [{"phoneInfo": "+441632960962", "enrolledAt": "2020-02-30T00:00:00Z"}]"#, ["mfaInfo.enrolledAt"]),
] as [(String, Set<String>)])
func `an informational field is left out and named`(member: String, names: Set<String>) throws {
  let user = try user(#"{"localId": "u1", \#(member)}"#)
  #expect(user.id == "u1" && user.leftOut == names)
}

@Test func `null counts as missing, and two equal ids as one`() throws {
  let user = try user(
    #"{"uid": "u", "localId": "u", "email": null, "disabled": null, "mfaInfo": null, "createdAt": 5e3}"#)
  #expect(user.id == "u" && user.email.isEmpty && !user.disabled)
  #expect(user.createdAtMillis == 5_000 && user.leftOut.isEmpty)
}

// MARK: files

private func rows(_ text: String, parts: Int = .max) throws -> [UserFile.Row] {
  var file = UserFile()
  var found: [UserFile.Row] = []
  var rest = Array(text.utf8)[...]
  while !rest.isEmpty {
    let part = rest.prefix(parts)
    rest = rest.dropFirst(part.count)
    try file.append(Array(part)) { found.append($0) }
  }
  try file.finish { found.append($0) }
  return found
}

private func users(_ text: String, parts: Int = .max) throws -> [FirebaseUser] {
  try rows(text, parts: parts).compactMap { try $0.user(nowMillis: nowMillis) }
}

private let header = "UID,Email,Email Verified,Password Hash,Password Salt,Name,Photo URL,Google ID,Google Email,"
  + "Google Display Name,Google Photo URL,Facebook ID,Facebook Email,Facebook Display Name,Facebook Photo URL,"
  + "Twitter ID,Twitter Email,Twitter Display Name,Twitter Photo URL,GitHub ID,GitHub Email,GitHub Display Name,"
  + "GitHub Photo URL,"
  + "User Creation Time,Last Sign-In Time,Phone Number\r\n"

private let table = "u1,ada@example.com,true,+/8=,/w==,\"Lovelace, \"\"Ada\"\"\n\",https://p/1,g1,a@g.com,A,,,,,,"
  + "t1,,,,,,,,1500000000123,1600000000456,+441632960961,true,"
  + "\"{\"\"role\"\":\"\"editor\"\"}\"\r\n\r\nu2,,FALSE,,,,,,,\n"

@Test(arguments: [1, 7, 1_000])
func `the CSV of Firebase is read with and without its header`(parts: Int) throws {
  for text in [table, header + table, "\u{FEFF}" + table] {
    let users = try users(text, parts: parts)
    let first = try #require(users.first)
    #expect(users.map(\.id) == ["u1", "u2"] && first.emailVerified && first.disabled && !users[1].emailVerified)
    #expect(first.passwordHash == [0xfb, 0xff] && first.salt == [0xff] && first.displayName == "Lovelace, \"Ada\"\n")
    #expect(first.providers.map(\.providerID) == ["google.com", "twitter.com"])
    #expect(first.providers.map(\.subject) == ["g1", "t1"] && first.phoneNumber == "+441632960961")
    #expect(first.createdAtMillis == 1_500_000_000_123 && first.customClaimsJSON == #"{"role":"editor"}"#)
  }
}

@Test(arguments: [
  ("u1,a@example.com,maybe,,,,", "emailVerified"), ("u1,,,,,,,,a@g.com", "providerUserInfo.rawId"),
  ("u1;a@example.com", ""),
  ("u1,,,?,,,", "passwordHash"), ("u1" + String(repeating: ",", count: 26) + "1", "disabled"),
  ("u1" + String(repeating: ",", count: 52), ""), (",a@example.com,,,,,,x", nil),
])
func `a CSV row that would lose a value is rejected, and the error names it`(row: String, field: String?) {
  #expect(error { try users(row).first }?.field == field)
}

@Test(arguments: [
  "u1,\"a", header.replacing("Password Salt", with: "Disabled"),
  "u1,," + String(repeating: "x", count: 70_000),
])
func `a file that is not CSV causes an error`(text: String) {
  #expect(throws: ExportFileError.self) { try users(text) }
}

@Test(arguments: [1, 7, 1_000])
func `a row of CSV with a misplaced quote or bad UTF-8 spoils no other row`(parts: Int) throws {
  var file = UserFile()
  var rows: [UserFile.Row] = []
  let text = "u1,,,,,,\nu2,a\"b,,,,,\nu3,\"a\"b,,,,,\nu4,,,,,\u{7F},\nu5,,,,,,"
  var bytes = Array(text.utf8)
  bytes[try #require(bytes.firstIndex(of: 0x7F))] = 0xFF
  for start in stride(from: 0, to: bytes.count, by: parts) {
    try file.append(Array(bytes[start..<min(start + parts, bytes.count)])) { rows.append($0) }
  }
  try file.finish { rows.append($0) }
  #expect(file.isTable)
  let ids = rows.map { row in try? row.user(nowMillis: 0)?.id }
  #expect(ids == ["u1", nil, nil, nil, "u5"])
}

private let line = #"""
  {"account_id":"a1","email":"ada@example.com","email_verified":true,"display_name":"Ada","photo_url":"",
  "anonymous":false,"created_at":"2020-01-02T03:04:05.000Z","last_sign_in_at":null,
  "providers":[{"provider_id":"password","subject":"x",
  "email":"x","display_name":"","photo_url":"","linked_at":null},{"provider_id":"google.com","subject":"g1","email":"",
  "display_name":"A","photo_url":"","linked_at":"2020-01-02T03:04:05.000Z"}],"second_factors":[{"factor_id":"f1",
  "kind":"phone","display_name":"mine","masked_phone_number":"+441632960962","enrolled_at":null},{"factor_id":"f2",
  "kind":"recovery_code","display_name":"","masked_phone_number":"","enrolled_at":null}],"phone_number":"+441632960961",
  "disabled":true,"custom_claims_json":"{\"a\":1}","password_hash":"$argon2id$x"}
  """#.replacing("\n", with: "") + "\n"

@Test(arguments: [1, 100, 10_000])
func `the lines of Latchkey's own export are read`(parts: Int) throws {
  let users = try users(line + "\n" + line + #"{"outcome":"exported","accounts":2}"#, parts: parts)
  let user = try #require(users.first)
  #expect(users.count == 2 && user.id == "a1" && user.emailVerified && user.disabled && user.displayName == "Ada")
  #expect(user.createdAtMillis == 1_577_934_245_000 && user.phoneNumber == "+441632960961")
  #expect(user.providers == [FirebaseUser.Provider(providerID: "google.com", subject: "g1", displayName: "A")])
  #expect(user.phoneFactors.map(\.id) == ["f1"] && user.customClaimsJSON == #"{"a":1}"#)
  #expect(user.passwordHash == Array("$argon2id$x".utf8) && user.leftOut == ["second_factors.recovery_code"])
}

@Test func `a passkey of Latchkey's own export that is a second factor is read with its record`() throws {
  let old = #""kind":"phone","display_name":"mine","masked_phone_number":"+441632960962""#
  let new = #""kind":"passkey","display_name":"mine","masked_phone_number":"","passkey_record":"AAA""#
  let user = try #require(try users(line.replacing(old, with: new)).first)
  #expect(user.phoneFactors.isEmpty && user.passkeyFactors.map(\.id) == ["f1"])
  #expect(user.passkeyFactors.map(\.passkeyRecord) == ["AAA"] && user.passkeyFactors.map(\.displayName) == ["mine"])
  let bare = line.replacing(old, with: #""kind":"passkey","display_name":"mine","masked_phone_number":"""#)
  #expect(error { try users(bare).first }?.field == "second_factors.passkey_record")
}

@Test(arguments: [
  (#""kind":"phone""#, #""kind":"totp""#, "second_factors"), (#""disabled":true"#, #""disabled":"true""#, "disabled"),
  ("+441632960962", "+********0962", "second_factors.masked_phone_number"), (#""disabled""#, #""Disabled""#,
  "Disabled"),
  (#""anonymous":false"#, #""anonymous":true"#, "anonymous"),
])
func `a line of Latchkey's own export that would lose a value is rejected, and the error names it`(
  old: String, new: String, field: String
) {
  #expect(error { try users(line.replacing(old, with: new)).first }?.field == field)
}
