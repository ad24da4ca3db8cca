import Encodings
import Store

// The document of an access request: what each record shows, under the names of its columns. administration.md lists
// the members, which callers rely on: a column that is renamed keeps its member.

/// What is shown of a table in the document of one account. The switch is exhaustive: each new table needs a decision.
extension StoredTable {
  /// Columns that are left out, because they are secrets, digests of secrets, or the same for every account.
  fileprivate var hiddenColumns: Set<String> {
    switch self {
    case .accounts: ["version", "password_hash"]
    case .identities, .unlinks: ["account_id"]
    case .factors: ["account_id", "sealed_secret"]
    case .sessions: ["account_id", "refresh_digest", "parent_digest"]
    case .pendings:
      ["account_id", "digest", "version", "sealed", "binding", "attempt_id", "network", "completed_account_id"]
    case .audit: ["position", "account_id", "details"]
    case .throttles: ["key"]
    case .failures: ["key", "account_id", "subject", "device"]
    case .deliveries: ["account_id", "merge_key", "sealed"]
    case .sentMessages: ["account_id"]
    // Not shown: nothing of these belongs to an account that exists, or they expire within a day.
    case .closedAccounts, .pendingCounts, .idempotency, .spentTokens, .signingKeys, .importKeys, .masterKeys: []
    }
  }
}

/// A JSON text that is written in parts.
struct JSONParts {
  private(set) var bytes: [UInt8] = []
  private var needsComma = false

  /// Returns the text since the last call.
  mutating func take() -> String {
    defer { bytes = [] }
    return String(decoding: bytes, as: UTF8.self)
  }

  mutating func begin(_ bracket: Character) {
    separate()
    bytes += String(bracket).utf8
    needsComma = false
  }

  mutating func end(_ bracket: Character) {
    bytes += String(bracket).utf8
    needsComma = true
  }

  mutating func name(_ name: String) {
    separate()
    JSONText.append(name, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  mutating func text(_ value: String?) {
    separate()
    if let value { JSONText.append(value, to: &bytes) } else { bytes += "null".utf8 }
    needsComma = true
  }

  /// Appends a number, a boolean, null or a JSON text as it is.
  mutating func raw(_ value: String) {
    separate()
    bytes += value.utf8
    needsComma = true
  }

  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
  }
}

extension JSONParts {
  /// Appends a record as an object. `more` appends further members.
  mutating func record(_ record: some StoredRecord, more: (inout JSONParts) -> Void = { _ in }) {
    let collector = MemberCollector(hidden: type(of: record).table.hiddenColumns)
    var record = record
    record.visit(collector)
    begin("{")
    for (column, value) in collector.members {
      name(column)
      switch value {
      case .text(let text): self.text(text)
      case .number(let number): raw("\(number)")
      case .moment(let millis): text(rfc3339(millis))
      case .flag(let flag): raw(flag ? "true" : "false")
      case .null: raw("null")
      }
    }
    more(&self)
    end("}")
  }

  mutating func records(
    _ name: String, _ records: [some StoredRecord]
  ) {
    self.name(name)
    begin("[")
    for each in records { record(each) }
    end("]")
  }
}

/// Collects the columns of a record that the document shows.
private final class MemberCollector: ColumnVisitor {
  enum Value {
    case text(String)
    case number(Int64)
    case moment(Int64)
    case flag(Bool)
    case null
  }

  private let hidden: Set<String>
  private(set) var members: [(name: String, value: Value)] = []

  init(hidden: Set<String>) { self.hidden = hidden }

  private func add(_ name: StaticString, _ value: Value) {
    let name = name.description
    if !hidden.contains(name) { members.append((name, value)) }
  }

  private func add(_ name: StaticString, _ number: Int64?) {
    guard let number else { return add(name, .null) }
    let text = name.description
    let isMoment = text == "at" || text.hasSuffix("_at") || MemberCollector.moments.contains(text)
    add(name, isMoment ? .moment(number) : .number(number))
  }

  private static let moments: Set<String> = ["auth_time", "tokens_valid_after", "since", "blocked_until", "kept_until"]

  func column(_ name: StaticString, _ value: inout String) { add(name, .text(value)) }
  func column(_ name: StaticString, _ value: inout String?) { add(name, value.map { .text($0) } ?? .null) }
  func column(_ name: StaticString, _ value: inout Int64) { add(name, value) }
  func column(_ name: StaticString, _ value: inout Int64?) { add(name, value) }
  func column(_ name: StaticString, _ value: inout Bool) { add(name, .flag(value)) }
  // Bytes are digests and sealed content, which mean nothing to the user.
  func column(_ name: StaticString, _ value: inout [UInt8]) {}
  func column(_ name: StaticString, _ value: inout [UInt8]?) {}
  func owner(_ name: StaticString, _ accountID: inout String) {}
  func reject(_ name: StaticString, _ why: String) {}
}
