/// A column that every backend has, under this name.
package struct StoredColumn: Hashable, Sendable {
  package enum Kind: Sendable {
    case text
    case integer
    case boolean
    case bytes
  }

  package let name: String
  package let kind: Kind

  package init(_ name: String, _ kind: Kind) {
    self.name = name
    self.kind = kind
  }
}

/// A record that is stored as one row.
///
/// `visit` is the only list of its columns. The statements of every backend, reading and binding, and the migration
/// between backends follow from it. A backend adds columns of its own behind these.
package protocol StoredRecord: Sendable {
  static var table: StoredTable { get }
  static var columns: [StoredColumn] { get }
  /// The record that a reader fills. Its values stand for nothing.
  static var blank: Self { get }

  /// Passes every field to the visitor, in column order.
  mutating func visit(_ visitor: some ColumnVisitor)
}

/// Receives the fields of a record. A reader replaces each value, a writer stores it.
///
/// Nothing throws, so that one description serves both directions. A reader keeps the first `reject` and fails once the
/// record is complete.
package protocol ColumnVisitor {
  func column(_ name: StaticString, _ value: inout String)
  func column(_ name: StaticString, _ value: inout String?)
  func column(_ name: StaticString, _ value: inout Int64)
  func column(_ name: StaticString, _ value: inout Int64?)
  func column(_ name: StaticString, _ value: inout Bool)
  func column(_ name: StaticString, _ value: inout [UInt8])
  func column(_ name: StaticString, _ value: inout [UInt8]?)
  /// The id of the account that owns the record. A backend may store another key of the account in its place.
  func owner(_ name: StaticString, _ accountID: inout String)
  /// Reports a stored value that the program never wrote.
  func reject(_ name: StaticString, _ why: String)
}

// Fields of other types, by the column that stores them. Inlined, so that no type is looked up at run time.
extension ColumnVisitor {
  @inline(__always) func column(_ name: StaticString, _ value: inout Int) {
    var number = Int64(value)
    column(name, &number)
    value = Int(number)
  }

  @inline(__always) func column(_ name: StaticString, _ value: inout Timestamp) { column(name, &value.millis) }

  @inline(__always) func column(_ name: StaticString, _ value: inout Timestamp?) {
    var millis = value?.millis
    column(name, &millis)
    value = if let millis { Timestamp(millis: millis) } else { nil }
  }

  @inline(__always) func column(_ name: StaticString, _ value: inout CallerName) {
    var text = value.text
    column(name, &text)
    value = CallerName(text)
  }

  @inline(__always) func column(_ name: StaticString, _ value: inout Digest) {
    var bytes = value.bytes
    column(name, &bytes)
    if let digest = digest(name, bytes) { value = digest }
  }

  @inline(__always) func column(_ name: StaticString, _ value: inout Digest?) {
    var bytes = value?.bytes
    column(name, &bytes)
    value = if let bytes { digest(name, bytes) } else { nil }
  }

  private func digest(_ name: StaticString, _ bytes: [UInt8]) -> Digest? {
    if bytes.count == 32 { return Digest(bytes) }
    reject(name, "a digest of \(bytes.count) bytes")
    return nil
  }

  @inline(__always) func column<Value: RawRepresentable<String>>(_ name: StaticString, _ value: inout Value) {
    var text = value.rawValue
    column(name, &text)
    if let known = Value(rawValue: text) { value = known } else { reject(name, "'\(text)' is not a \(Value.self)") }
  }

  @inline(__always) func column<Value: RawRepresentable<String>>(_ name: StaticString, _ value: inout Value?) {
    var text = value?.rawValue
    column(name, &text)
    value = if let text { Value(rawValue: text) } else { nil }
    if let text, value == nil { reject(name, "'\(text)' is not a \(Value.self)") }
  }

  @inline(__always) func column<Value: RawRepresentable<Int>>(_ name: StaticString, _ value: inout Value) {
    var number = value.rawValue
    column(name, &number)
    if let known = Value(rawValue: number) { value = known } else { reject(name, "\(number) is not a \(Value.self)") }
  }
}

extension StoredRecord {
  /// The columns that `visit` names.
  static func describe() -> [StoredColumn] {
    let names = ColumnNames()
    var record = blank
    record.visit(names)
    return names.columns
  }
}

/// Collects the columns of a record.
private final class ColumnNames: ColumnVisitor {
  private(set) var columns: [StoredColumn] = []

  private func add(_ name: StaticString, _ kind: StoredColumn.Kind) {
    columns.append(StoredColumn(name.description, kind))
  }

  func column(_ name: StaticString, _ value: inout String) { add(name, .text) }
  func column(_ name: StaticString, _ value: inout String?) { add(name, .text) }
  func column(_ name: StaticString, _ value: inout Int64) { add(name, .integer) }
  func column(_ name: StaticString, _ value: inout Int64?) { add(name, .integer) }
  func column(_ name: StaticString, _ value: inout Bool) { add(name, .boolean) }
  func column(_ name: StaticString, _ value: inout [UInt8]) { add(name, .bytes) }
  func column(_ name: StaticString, _ value: inout [UInt8]?) { add(name, .bytes) }
  func owner(_ name: StaticString, _ accountID: inout String) { add(name, .text) }
  func reject(_ name: StaticString, _ why: String) { preconditionFailure("\(name) of a blank record: \(why)") }
}
