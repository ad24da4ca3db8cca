import Store

// The binary format of values, one way; Answer.swift has the other. Integers are eight bytes, the highest first; texts
// and bytes are what they are; a boolean is one byte.

/// A prepared statement with its values, which are bound in order, each by one call.
final class Step {
  let statement: Statement
  /// What it comes to where this statement is a guard and fails as one.
  let refusal: Outcome?
  /// One after the other, behind a byte that gives an empty value an address.
  private(set) var bytes: [UInt8] = [0]
  /// nil: NULL.
  private(set) var places: [Range<Int>?] = []

  init(_ statement: Statement, refusing refusal: Outcome? = nil) {
    self.statement = statement
    self.refusal = refusal
  }

  func bind(_ value: Int64) -> Step {
    let start = bytes.count
    for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: value >> Int64(shift))) }
    return keep(from: start)
  }

  func bind(_ value: Int) -> Step { bind(Int64(value)) }

  func bind(_ value: Bool) -> Step { bind([value ? 1 : 0]) }

  func bind(_ value: Timestamp?) -> Step { value.map { bind($0.millis) } ?? bindNull() }

  /// PostgreSQL keeps every character but NUL, which takes the form of one that cannot be shown.
  func bind(_ value: String?) -> Step {
    guard let value else { return bindNull() }
    let start = bytes.count
    if value.utf8.contains(0) {
      for scalar in value.unicodeScalars { bytes += String(scalar.value == 0 ? "\u{FFFD}" : scalar).utf8 }
    } else {
      bytes += value.utf8
    }
    return keep(from: start)
  }

  func bind(_ value: [UInt8]) -> Step {
    let start = bytes.count
    bytes += value
    return keep(from: start)
  }

  func bind(_ value: Digest?) -> Step { value.map { bind($0.bytes) } ?? bindNull() }

  private func bindNull() -> Step {
    places.append(nil)
    return self
  }

  private func keep(from start: Int) -> Step {
    places.append(start..<bytes.count)
    return self
  }
}
