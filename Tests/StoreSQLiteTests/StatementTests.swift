import Store
import Testing

@testable import StoreSQLite

/// Binding values to a statement, and reading them.
@Suite struct StatementTests {
  let folder: Folder
  let connection: Connection

  init() throws {
    folder = try Folder()
    connection = try folder.newFile()
    try connection.execute("CREATE TABLE kept (number INTEGER PRIMARY KEY, text TEXT, bytes BLOB, also TEXT)")
  }

  /// The statement's buffer grows with its values up to a limit. Above the limit, SQLite copies the values.
  @Test func `values of any size and order read back as they were bound, in every run`() throws {
    let insert = try connection.prepare("INSERT INTO kept VALUES (?, ?, ?, ?)")
    let sizes = [0, 1, 7, 300, 3, 301, 5_000, 0, 9_000, 16_383, 16_384, 16_385, 100_000, 12, 5_000, 0]
    func values(_ round: Int) -> (text: String, bytes: [UInt8], also: String?) {
      let (first, second) = (sizes[round % sizes.count], sizes[(round * 7 + 3) % sizes.count])
      let command = String(UnicodeScalar(UInt8(ascii: "a") + UInt8(round % 26)))
      return (
        String(repeating: command, count: first), [UInt8](repeating: UInt8(round), count: second),
        round % 3 == 0 ? nil : command + "é\(round)"
      )
    }
    for round in 0..<64 {
      let (text, bytes, also) = values(round)
      try insert.bind(round).bind(text).bind(bytes).bind(also).runInsert()
    }
    let select = try connection.prepare("SELECT text, bytes, also FROM kept WHERE number = ?")
    for round in 0..<64 {
      let (text, bytes, also) = values(round)
      #expect(try select.bind(round).step())
      #expect(select.text() == text && select.bytes() == bytes && select.optionalText() == also)
      select.reset()
    }
  }

  @Test func `a reset clears bound values`() throws {
    let select = try connection.prepare("SELECT ? || ?")
    for (left, right) in [("first", "value"), ("", "x"), ("a much longer one than before", "y")] {
      #expect(try select.bind(left).bind(right).step())
      #expect(select.text() == left + right)
      select.reset()
    }
  }
}
