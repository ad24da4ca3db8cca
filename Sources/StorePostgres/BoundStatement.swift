import Store

// Encodes values in PostgreSQL's binary format; QueryResult.swift decodes it.
//
// Integers are eight bytes, big-endian. Texts and bytes are unchanged. A boolean is one byte.

/// A prepared statement with its values, which are bound in order, one per call.
final class BoundStatement {
  let statement: Statement
  /// The outcome of the change if this statement is a guard and fails as one.
  let refusal: Outcome?
  /// The values, consecutively, after one byte that gives an empty value an address.
  private(set) var bytes: [UInt8] = [0]
  /// nil: NULL.
  private(set) var places: [Range<Int>?] = []

  init(_ statement: Statement, refusing refusal: Outcome? = nil) {
    self.statement = statement
    self.refusal = refusal
  }

  func bind(_ value: Int64) -> BoundStatement {
    let start = bytes.count
    for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: value >> Int64(shift))) }
    return keep(from: start)
  }

  func bind(_ value: Int) -> BoundStatement { bind(Int64(value)) }

  func bind(_ value: Bool) -> BoundStatement { bind([value ? 1 : 0]) }

  func bind(_ value: Timestamp?) -> BoundStatement { value.map { bind($0.millis) } ?? bindNull() }

  /// Binds a text. PostgreSQL stores every character except NUL, which is replaced by U+FFFD.
  func bind(_ value: String?) -> BoundStatement {
    guard let value else { return bindNull() }
    let start = bytes.count
    bytes += (value.utf8.contains(0) ? value.withoutNul : value).utf8
    return keep(from: start)
  }

  func bind(_ value: [UInt8]?) -> BoundStatement {
    guard let value else { return bindNull() }
    let start = bytes.count
    bytes += value
    return keep(from: start)
  }

  func bind(_ value: Int64?) -> BoundStatement { value.map { bind($0) } ?? bindNull() }

  func bind(_ value: Digest?) -> BoundStatement { value.map { bind($0.bytes) } ?? bindNull() }

  private func bindNull() -> BoundStatement {
    places.append(nil)
    return self
  }

  private func keep(from start: Int) -> BoundStatement {
    places.append(start..<bytes.count)
    return self
  }
}

extension String {
  /// The text with U+FFFD instead of each NUL.
  var withoutNul: String {
    var text = ""
    for scalar in unicodeScalars { text.unicodeScalars.append(scalar.value == 0 ? "\u{FFFD}" : scalar) }
    return text
  }
}
