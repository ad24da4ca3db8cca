import Testing

@testable import Import

private func users(_ text: String, parts: Int = .max) throws -> [String] {
  var export = FirebaseExport()
  var found: [String] = []
  var rest = Array(text.utf8)[...]
  while !rest.isEmpty {
    let part = rest.prefix(parts)
    rest = rest.dropFirst(part.count)
    try export.append(Array(part)) { found.append(String(decoding: $0, as: UTF8.self)) }
  }
  try export.finish()
  return found
}

@Test(arguments: [1, 2, 7, 1_000])
func `users are cut out of the file wherever it is cut itself`(parts: Int) throws {
  let text = #"""
    {"version": 1, "other": [{"a": 1}], "users": [
      {"localId": "a", "s": "}]{[\"\\"}, {"localId": "b", "list": [{"x": {"y": 1}}], "e": "\\"}
    ], "users2": [{"z": 1}]}
    """#
  let found = try users(text, parts: parts)
  #expect(found.count == 2)
  #expect(found.first == #"{"localId": "a", "s": "}]{[\"\\"}"#)
  #expect(found.last == #"{"localId": "b", "list": [{"x": {"y": 1}}], "e": "\\"}"#)
}

@Test func `an empty list has no users`() throws {
  #expect(try users(#"{"users": []}"#).isEmpty)
}

@Test(arguments: ["", "{}", "[", #"{"users": [{"a": 1}"#, #"{"users": ["#, #"{"x": {"users": [{"a": 1}]}}"#, "}", "[]"])
func `a file that is none, or ends early, says so`(text: String) {
  #expect(throws: ExportFileError.self) { try users(text) }
}

@Test func `one user is bounded`() throws {
  func user(_ count: Int) -> String { #"{"users": [{"a":""# + String(repeating: "x", count: count - 8) + #""}]}"# }
  #expect(try users(user(FirebaseExport.userBytesMax)).count == 1)
  #expect(throws: ExportFileError.self) { try users(user(FirebaseExport.userBytesMax + 1)) }
}

@Test func `a user is read with everything that Firebase exports of it`() throws {
  let text = #"""
    {"localId": "u1", "email": "Ada@example.com", "emailVerified": true, "passwordHash": "-_8=", "salt": "+/8=",
     "displayName": "Ada \u00e9", "photoUrl": "https://p/1", "phoneNumber": "+441632960961", "disabled": true,
     "createdAt": "1500000000123", "lastSignedInAt": "1600000000456", "customAttributes": "{\"a\":1}",
     "providerUserInfo": [
       {"providerId": "password", "rawId": "Ada@example.com"}, {"providerId": "phone", "rawId": "+441632960961"},
       {"providerId": "google.com", "rawId": "g1", "email": "a@g.com", "displayName": "A", "photoUrl": "https://p/2"}],
     "mfaInfo": [{"mfaEnrollmentId": "m1", "phoneInfo": "+441632960962", "displayName": "mine",
       "enrolledAt": "2020-02-29T12:34:56.789Z"}]}
    """#
  let user = try FirebaseUser(Array(text.utf8))
  #expect(user.id == "u1" && user.email == "Ada@example.com" && user.emailVerified && user.disabled)
  #expect(user.passwordHash == [0xfb, 0xff] && user.salt == [0xfb, 0xff])
  #expect(user.displayName == "Ada é" && user.photoURL == "https://p/1" && user.phoneNumber == "+441632960961")
  #expect(user.createdAtMillis == 1_500_000_000_123 && user.lastSignedInAtMillis == 1_600_000_000_456)
  #expect(user.customClaimsJSON == #"{"a":1}"#)
  #expect(user.providers.map(\.providerID) == ["google.com"] && user.providers.first?.subject == "g1")
  #expect(user.phoneFactors.map(\.phoneNumber) == ["+441632960962"])
  #expect(user.phoneFactors.first?.enrolledAtMillis == 1_582_979_696_789)
}

@Test(arguments: [
  #"{"passwordHash": "?"}"#, #"{"createdAt": "soon"}"#, #"{"mfaInfo": [{"totpInfo": {}}]}"#, #"{"a": 1, "a": 2}"#,
  #"{"mfaInfo": [{"phoneInfo": "+441632960962", "enrolledAt": "2020-02-30T00:00:00Z"}]}"#,
])
func `a user that cannot be read says why`(text: String) {
  #expect(throws: ExportFileError.self) { try FirebaseUser(Array(text.utf8)) }
}
