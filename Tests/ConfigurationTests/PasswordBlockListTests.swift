import Crypto
import Encodings
import Reactor
import TestSupport
import Testing

@testable import Configuration

/// A file of `passwords.block_list_file`.
private func list(_ text: String, _ body: (PasswordBlockList) throws -> Void) throws {
  let folder = try TemporaryFolder()
  defer { folder.remove() }
  let path = folder.path + "/list"
  try PrivateFile(path).write(Array(text.utf8))
  try body(try PasswordBlockList(path))
}

private func line(_ password: String, count: Int = 1) -> String {
  String(decoding: Hexadecimal.encode(sha1(Array(password.utf8))), as: UTF8.self).uppercased() + ":\(count)"
}

/// Sorted lines of `entry 0`, `entry 1`, … as Have I Been Pwned writes them.
private func digests(_ count: Int, end: String = "\r\n") -> String {
  (0..<count).map { line("entry \($0)", count: $0 * $0) }.sorted().joined(separator: end)
}

@Suite struct `The block list of passwords` {
  @Test func `a file of passwords is compared in NFKC and in any case`() throws {
    let ligature = "di\u{FB03}cult words"
    try list("correct horse\r\n\nTall Ships\n\(ligature)\nlast line") { list in
      #expect(list.count == 4)
      for blocked in ["correct horse", "CORRECT HORSE", "tall ships", "difficult words", "last line"] {
        let isFound = try list.contains(blocked)
        #expect(isFound, "\(blocked)")
      }
      let found = try ["correct", "", "correct horse ", "tall shipsdifficult words"].filter(list.contains)
      #expect(found == [])
    }
  }

  @Test func `a line may be split between two parts of the file, and lines that are no UTF-8 are skipped`() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let path = folder.path + "/list"
    let lines = (0..<90_000).map { "password number \($0)" }
    try PrivateFile(path).write(Array(lines.joined(separator: "\n").utf8) + [0x0A, 0xFF, 0xFE, 0x0A])
    let list = try PasswordBlockList(path)
    #expect(list.count == 90_000)
    let found = try [0, 1, 44_444, 89_999, 90_000].filter { try list.contains("password number \($0)") }
    #expect(found == [0, 1, 44_444, 89_999])
  }

  @Test(arguments: ["\r\n", "\n"], [1, 2, 60, 500])
  func `a list of SHA-1 digests is searched on disk, exactly`(_ end: String, _ count: Int) throws {
    try list(digests(count, end: end)) { list in
      #expect(list.count == nil)
      let missing = try (0..<count).filter { try !list.contains("entry \($0)") }
      let found = try ["Entry 0", "entry \(count)", "", "entry -1"].filter(list.contains)
      #expect(missing == [] && found == [])
    }
  }

  @Test func `digests without counts and in lower case are accepted`() throws {
    let lines = (0..<200).map { line("entry \($0)").prefix(40).lowercased() }.sorted().joined(separator: "\n") + "\n"
    try list(lines) { list in
      let found = try (0...200).filter { try list.contains("entry \($0)") }
      #expect(found == Array(0..<200))
    }
  }

  @Test func `a list that is not ordered by its digests is rejected, with the place`() throws {
    let lines = digests(300).split(separator: "\r\n").reversed().joined(separator: "\n")
    let error = try #require(throws: ConfigurationError.self) { try list(lines) { _ in } }
    #expect(error.setting == "passwords.block_list_file" && error.why.contains("is not ordered"))
    let malformed = digests(300).replacing("\r\n", with: "\nnot a digest\n", maxReplacements: 150)
    #expect(throws: ConfigurationError.self) { try list(malformed) { _ in } }
  }

  @Test func `a missing, an empty and an unsuitable file are rejected`() throws {
    #expect(throws: ConfigurationError.self) { _ = try PasswordBlockList("/nonexistent/list") }
    #expect(throws: ConfigurationError.self) { try list("\n\n") { _ in } }
    #expect(throws: ConfigurationError.self) { try list("") { _ in } }
    #expect(throws: ConfigurationError.self) { _ = try PasswordBlockList("/") }
  }
}

@Test func `a set of digests has what it was made of`() {
  let texts = (0..<2_000).map { "text \($0)" }
  let set = DigestSet(texts.map { DigestSet.digest(Array($0.utf8)) })
  #expect(set.count == 2_000)
  #expect(texts.allSatisfy { set.contains(Array($0.utf8)) })
  #expect(!set.contains(Array("text 2000".utf8)) && !DigestSet([]).contains([]))
}
