import Crypto
import Encodings
import Store

/// The number of rows in a table, and the SHA-256 of all rows in key order, encoded as `StoredRows`.
package struct TableSum: Hashable, Sendable {
  package let rows: Int
  /// Hexadecimal.
  package let sha256: String

  /// - Parameter next: returns some rows, and nil after the last.
  init<Failure: Error>(_ next: () throws(Failure) -> StoredRows?) throws(Failure) {
    let digest = SHA256()
    var count = 0
    while let rows = try next() {
      digest.take(rows.bytes)
      count += rows.count
    }
    rows = count
    sha256 = String(decoding: Hexadecimal.encode(digest.value()), as: UTF8.self)
  }
}

/// One table on both sides.
package struct ComparedTable: Hashable, Sendable {
  package let name: String
  package let source: TableSum
  package let target: TableSum

  package var isSame: Bool { source == target }
}
