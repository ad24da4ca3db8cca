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
func `users are read wherever the file is split`(parts: Int) throws {
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
func `a file that is not an export, or ends early, causes an error`(text: String) {
  #expect(throws: ExportFileError.self) { try users(text) }
}

@Test func `the size of a user is limited`() throws {
  func user(_ count: Int) -> String { #"{"users": [{"a":""# + String(repeating: "x", count: count - 8) + #""}]}"# }
  #expect(try users(user(FirebaseExport.userBytesMax)).count == 1)
  #expect(throws: ExportFileError.self) { try users(user(FirebaseExport.userBytesMax + 1)) }
}

@Test(arguments: [
  #"{"users": [1]}"#, #"{"users": ["a"]}"#, #"{"users": [[{"a": 1}]]}"#, #"{"users": [null]}"#,
  #"{"users": [{"a": 1}], "users": [{"b": 1}]}"#, #"{"users": [{"a": 1}]}{"users": [{"b": 1}]}"#,
])
func `other entries in a list of users, and a second list, are rejected`(text: String) {
  #expect(throws: ExportFileError.self) { try users(text) }
}
