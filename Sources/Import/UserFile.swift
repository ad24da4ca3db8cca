import Tokens

/// A file of users: the JSON or CSV of Firebase's `auth:export`, or the lines of `latchkey export`. Its first line
/// shows the format.
package struct UserFile {
  package enum Row: Hashable, Sendable {
    case firebase([UInt8])
    case cells([String])
    /// A row that is no CSV.
    case malformed(why: String)
    case own([UInt8])

    /// Returns nil if the row is not a user.
    package func user(nowMillis: Int64) throws(UserError) -> FirebaseUser? {
      switch self {
      case .firebase(let bytes): return try FirebaseUser(bytes, nowMillis: nowMillis)
      case .cells(let cells): return try FirebaseUser(row: cells, nowMillis: nowMillis)
      case .malformed(let why): throw UserError("", why)
      case .own(let bytes):
        let json = try FirebaseUser.parse(bytes).0
        return FirebaseUser.isReport(json) ? nil : try FirebaseUser(ownLine: json, nowMillis: nowMillis)
      }
    }

    package var byteCount: Int {
      switch self {
      case .firebase(let bytes), .own(let bytes): bytes.count
      case .cells(let cells): cells.reduce(0) { $0 + $1.utf8.count }
      case .malformed: 0
      }
    }
  }

  private enum Form {
    /// Unknown before the first line is complete.
    case unknown([UInt8])
    case firebase(FirebaseExport)
    case table(CommaSeparated, isFirst: Bool)
    case lines([UInt8])
  }

  private var form = Form.unknown([])

  /// Whether the file is CSV. False as long as nothing was read.
  package var isTable: Bool { if case .table = form { true } else { false } }

  package init() {}

  /// Calls `each` with every complete row.
  package mutating func append(_ bytes: [UInt8], _ each: (Row) throws -> Void) throws {
    switch form {
    case .unknown(let head):
      let text = head + bytes
      let known = UserFile.form(of: text, isWhole: false)
      form = known ?? .unknown(text)
      guard known != nil else { return }
      try append(UserFile.withoutMark(text), each)
    case .firebase(var export):
      form = .unknown([])
      defer { form = .firebase(export) }
      try export.append(bytes) { try each(.firebase($0)) }
    case .table(var table, var isFirst):
      form = .unknown([])
      defer { form = .table(table, isFirst: isFirst) }
      for byte in bytes {
        guard let row = try table.append(byte) else { continue }
        if let user = try UserFile.user(row, isFirst: isFirst) { try each(user) }
        isFirst = false
      }
    case .lines(var line):
      form = .unknown([])
      defer { form = .lines(line) }
      for byte in bytes where byte != UInt8(ascii: "\n") || !line.isEmpty {
        if byte == UInt8(ascii: "\n") {
          try each(.own(line))
          line = []
        } else {
          line.append(byte)
        }
        guard line.count <= FirebaseExport.userBytesMax else {
          throw ExportFileError(description: "a line is larger than \(FirebaseExport.userBytesMax) bytes")
        }
      }
    }
  }

  /// Ends the text. Calls `each` with the row that this completes.
  package mutating func finish(_ each: (Row) throws -> Void) throws {
    if case .unknown(let head) = form {
      form = UserFile.form(of: head, isWhole: true) ?? .firebase(FirebaseExport())
      try append(UserFile.withoutMark(head), each)
    }
    switch form {
    case .firebase(let export): try export.finish()
    case .table(var table, let isFirst):
      if let row = try table.finish(), let user = try UserFile.user(row, isFirst: isFirst) { try each(user) }
    case .lines(let line): if !line.isEmpty { try each(.own(line)) }
    case .unknown: break
    }
  }

  /// Returns nil for the header.
  private static func user(_ row: CommaSeparated.Row, isFirst: Bool) throws(ExportFileError) -> Row? {
    switch row {
    case .malformed(let why): return .malformed(why: why)
    case .cells(let cells):
      if isFirst, try FirebaseUser.isHeader(cells) { return nil }
      return .cells(cells)
    }
  }

  // MARK: format

  private static func form(of text: [UInt8], isWhole: Bool) -> Form? {
    guard isWhole || text.count >= mark.count || !mark.starts(with: text) else { return nil }
    let text = withoutMark(text)[...].drop { " \t\r\n".utf8.contains($0) }
    guard let first = text.first else { return nil }
    // A text that begins with a bracket is JSON, or fails as JSON.
    guard "{[}]".utf8.contains(first) else { return .table(CommaSeparated(), isFirst: true) }
    guard let end = text.firstIndex(of: UInt8(ascii: "\n")) ?? (isWhole ? text.endIndex : nil) else {
      return text.count > FirebaseExport.userBytesMax ? .firebase(FirebaseExport()) : nil
    }
    return FirebaseUser.isOwnLine(Array(text[..<end])) ? .lines([]) : .firebase(FirebaseExport())
  }

  /// The byte order mark, which is not part of the text.
  private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

  private static func withoutMark(_ text: [UInt8]) -> [UInt8] {
    text.starts(with: mark) ? Array(text.dropFirst(mark.count)) : text
  }
}
