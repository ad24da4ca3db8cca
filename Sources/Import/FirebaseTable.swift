import Tokens

/// A parser that splits the CSV form of Firebase's export (RFC 4180, with or without its header) into rows as it is
/// read.
///
/// A row with a misplaced quote ends at the end of its line, so that it spoils no other row. A quote that begins a cell
/// and is never closed takes in the lines that follow, because a quoted cell may have line ends.
struct CommaSeparated {
  enum Row: Hashable {
    case cells([String])
    case malformed(why: String)
  }

  private enum Stage { case cellBegins, plain, quoted, quoteInQuoted, malformed }

  private var stage = Stage.cellBegins
  private var cell: [UInt8] = []
  private var cells: [[UInt8]] = []
  private var byteCount = 0

  mutating func append(_ byte: UInt8) throws(ExportFileError) -> Row? {
    byteCount += 1
    guard byteCount <= FirebaseExport.userBytesMax else {
      throw ExportFileError(description: "a row is larger than \(FirebaseExport.userBytesMax) bytes")
    }
    let quote = UInt8(ascii: "\"")
    switch (stage, byte) {
    case (.quoted, quote): stage = .quoteInQuoted
    case (.quoteInQuoted, quote):
      stage = .quoted
      cell.append(byte)
    case (.quoted, _): cell.append(byte)
    case (_, UInt8(ascii: "\n")): return endRow()
    case (.malformed, _): break
    case (.cellBegins, quote): stage = .quoted
    case (_, UInt8(ascii: ",")):
      cells.append(cell)
      cell = []
      stage = .cellBegins
    case (_, UInt8(ascii: "\r")): break
    case (.quoteInQuoted, _), (.plain, quote): stage = .malformed
    default:
      stage = .plain
      cell.append(byte)
    }
    return nil
  }

  /// Returns the row that the end of the text completes.
  mutating func finish() throws(ExportFileError) -> Row? {
    guard stage != .quoted else { throw ExportFileError(description: "the file ends within a quoted cell") }
    return endRow()
  }

  /// Returns nil for an empty line.
  private mutating func endRow() -> Row? {
    defer {
      (cell, cells, stage, byteCount) = ([], [], .cellBegins, 0)
    }
    if stage == .malformed { return .malformed(why: "A cell contains a misplaced quote.") }
    guard !cells.isEmpty || !cell.isEmpty else { return nil }
    let texts = (cells + [cell]).compactMap { String(validating: $0, as: UTF8.self) }
    return texts.count == cells.count + 1 ? .cells(texts) : .malformed(why: "The row is not UTF-8.")
  }
}

extension FirebaseUser {
  /// The columns of `auth:export`. Each provider has four: subject, email, name and photo.
  private static let columns = [
    "localId", "email", "emailVerified", "passwordHash", "salt", "displayName", "photoUrl",
  ]
  private static let providerColumns = [
    7: "google.com", 11: "facebook.com", 15: "twitter.com", 19: "github.com", 28: "apple.com", 32: "microsoft.com",
    36: "gc.apple.com", 40: "playgames.google.com", 44: "linkedin.com", 48: "yahoo.com",
  ]
  private static let laterColumns = [
    23: "createdAt", 24: "lastSignedInAt", 25: "phoneNumber", 26: "disabled", 27: "customAttributes",
  ]
  private static let columnsMax = 52

  /// Column names of Firebase's documentation, without spaces and in lower case.
  private static let header = [
    "uid", "email", "emailverified", "passwordhash", "passwordsalt", "name", "photourl", "googleid", "googleemail",
    "googledisplayname", "googlephotourl", "facebookid", "facebookemail", "facebookdisplayname", "facebookphotourl",
    "twitterid", "twitteremail", "twitterdisplayname", "twitterphotourl", "githubid", "githubemail",
    "githubdisplayname", "githubphotourl", "usercreationtime", "lastsignintime", "phonenumber",
  ]

  /// Returns whether a row is the header. A header with other columns is an error: every value would be in a wrong
  /// place.
  static func isHeader(_ row: [String]) throws(ExportFileError) -> Bool {
    let names = row.map { $0.lowercased().filter { $0.isLetter } }
    guard row.count > 1, names[0] == "uid" || names[0] == "localid", names[1] == "email" else { return false }
    for (name, expected) in zip(names, header).dropFirst() where name != expected {
      throw ExportFileError(description: "the header has \(name) instead of \(expected)")
    }
    return true
  }

  /// - Parameter row: cells of one row of the CSV form.
  init(row: [String], nowMillis: Int64) throws(UserError) {
    func failed(_ field: String, _ why: String) -> UserError {
      var error = UserError(field, why)
      error.id = row.first ?? ""
      return error
    }
    guard 7...FirebaseUser.columnsMax ~= row.count else {
      throw failed("", "A row of Firebase's CSV must have 7 to \(FirebaseUser.columnsMax) columns, not \(row.count).")
    }
    var members: [JSONMember] = []
    let columns = FirebaseUser.columns.enumerated().map { ($0.offset, $0.element) }
    for (index, name) in columns + FirebaseUser.laterColumns.map({ ($0.key, $0.value) }) {
      guard index < row.count, !row[index].isEmpty else { continue }
      guard name == "emailVerified" || name == "disabled" else {
        members.append(JSONMember(name, .string(row[index])))
        continue
      }
      guard let flag = ["true": true, "false": false][row[index].lowercased()] else {
        throw failed(name, "It must be true or false.")
      }
      members.append(JSONMember(name, .bool(flag)))
    }
    let providers = FirebaseUser.providerColumns.sorted { $0.key < $1.key }.compactMap { first, providerID in
      FirebaseUser.entry(row.dropFirst(first).prefix(4), of: providerID)
    }
    members.append(JSONMember("providerUserInfo", .array(providers)))
    try self.init(.object(members), nowMillis: nowMillis)
  }

  /// Returns nil if the user does not have this provider.
  private static func entry(_ cells: ArraySlice<String>, of providerID: String) -> JSONValue? {
    guard cells.contains(where: { !$0.isEmpty }) else { return nil }
    let names = ["rawId", "email", "displayName", "photoUrl"]
    let members = zip(names, cells).filter { !$0.1.isEmpty }.map { JSONMember($0.0, .string($0.1)) }
    return .object([JSONMember("providerId", .string(providerID))] + members)
  }
}
