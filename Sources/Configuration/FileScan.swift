internal import FoundationEssentials

/// Scan of a JSON5 file for what the decoder does not report: duplicate names, and the position of a syntax error. The
/// decoder decides what is valid; a fault is only meaningful if the decoder rejected the file.
struct FileScan {
  struct Fault: Error {
    let at: Int
    let why: String
  }

  private enum Step {
    case name(String)
    case index(Int)
  }

  struct Repetition {
    let path: String
    let first: Int
    let second: Int
  }

  /// Maximum nesting depth, the same as the decoder's.
  private static let depthMax = 512

  private let file: [UInt8]
  private var tokens: FileTokens
  private var token: FileTokens.Token?
  /// Offsets of the open objects and lists around the token.
  private var openings: [Int] = []
  /// The path to the current value.
  private var steps: [Step] = []
  private(set) var fault: Fault?
  private(set) var repetition: Repetition?

  init(_ file: [UInt8]) {
    self.file = file
    tokens = FileTokens(file)
    token = tokens.next()
    do throws(Fault) {
      try readValue()
      if token != nil { throw missing("the end of the file") }
    } catch {
      note(error)
    }
  }

  // MARK: Values

  private mutating func readValue() throws(Fault) {
    guard let token else { throw missing("a value") }
    switch token.kind {
    case .text:
      note(try textFault(token.range))
      advance()
    case .word:
      note(FileScan.valueFault(text(token.range)).map { Fault(at: token.range.lowerBound, why: $0) })
      advance()
    case .sign:
      if stands("{") { return try readObject() }
      if stands("[") { return try readList() }
      throw missing("a value")
    }
  }

  private mutating func readObject() throws(Fault) {
    var offsets: [String: Int] = [:]
    try open()
    while !takes("}") {
      let start = token?.range.lowerBound ?? file.count
      let name = try readName()
      steps.append(.name(name))
      if let first = offsets.updateValue(start, forKey: name), repetition == nil {
        repetition = Repetition(path: path, first: first, second: start)
      }
      guard takes(":") else { throw missing("a colon") }
      try readValue()
      steps.removeLast()
      guard takes(",") || stands("}") else { throw missing("a comma or }") }
    }
    openings.removeLast()
  }

  private mutating func readList() throws(Fault) {
    try open()
    var index = 0
    while !takes("]") {
      steps.append(.index(index))
      try readValue()
      steps.removeLast()
      index += 1
      guard takes(",") || stands("]") else { throw missing("a comma or ]") }
    }
    openings.removeLast()
  }

  private var path: String {
    steps.reduce(into: "") { path, step in
      switch step {
      case .name(let name): path += path.isEmpty ? name : "." + name
      case .index(let index): path += "[\(index)]"
      }
    }
  }

  private mutating func readName() throws(Fault) -> String {
    guard let token, token.kind != .sign else { throw missing("a name") }
    advance()
    guard token.kind == .word else {
      note(try textFault(token.range))
      return FileScan.unescaped(text(token.range.dropFirst().dropLast()), quoted: text(token.range))
    }
    let name = text(token.range)
    let needsQuotes = name.contains(/^[0-9]|[+\-.]/) ? "the name \(name) needs quotes" : nil
    note((FileScan.blankFault(name) ?? needsQuotes).map { Fault(at: token.range.lowerBound, why: $0) })
    return FileScan.unescaped(name, quoted: "\"\(name)\"")
  }

  // MARK: Words and texts

  /// Returns the error of a value without quotes.
  private static func valueFault(_ word: String) -> String? {
    let isNumber =
      word.wholeMatch(
        of: /[+\-]?(Infinity|NaN|0[xX][0-9a-fA-F]+|((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+\-]?[0-9]+)?)/) != nil
    if isNumber || ["true", "false", "null"].contains(word) { return nil }
    if let fault = blankFault(word) { return fault }
    if word.wholeMatch(of: /[+\-]?0[0-9]+/) != nil { return "a number must not start with 0" }
    return "this is not a number, true, false or null; a string needs quotes"
  }

  /// Returns an error for non-ASCII whitespace, which copied text contains and editors do not show.
  private static func blankFault(_ word: String) -> String? {
    word.contains(/\s/) ? "there is a whitespace character that is not ASCII" : nil
  }

  private static func unescaped(_ name: String, quoted: String) -> String {
    guard name.utf8.contains(UInt8(ascii: "\\")) else { return name }
    let decoder = JSONDecoder()
    decoder.allowsJSON5 = true
    return (try? decoder.decode([String].self, from: Data("[\(quoted)]".utf8)).first) ?? name
  }

  /// Returns the error in a string. Throws if the string is not closed, which ends the scan.
  private func textFault(_ range: Range<Int>) throws(Fault) -> Fault? {
    let quote = file[range.lowerBound]
    var fault: Fault?
    var at = range.lowerBound + 1
    while at < range.upperBound, file[at] != quote {
      let why = file[at] == UInt8(ascii: "\\") ? escapeFault(at) : controlFault(at)
      if let why, fault == nil { fault = Fault(at: at, why: why) }
      if file[at] == UInt8(ascii: "\n") { break }
      at += file[at] == UInt8(ascii: "\\") ? escapeLength(at) : 1
    }
    guard at < range.upperBound, file[at] == quote else {
      throw fault ?? Fault(at: range.lowerBound, why: "the string that starts here is not closed")
    }
    return fault
  }

  private func controlFault(_ at: Int) -> String? {
    file[at] < 0x20 && file[at] != UInt8(ascii: "\n") ? "a control character in a string must be escaped" : nil
  }

  /// Length of an escape; CR LF counts as one character.
  private func escapeLength(_ at: Int) -> Int {
    file[at...].prefix(3).elementsEqual("\\\r\n".utf8) ? 3 : 2
  }

  private func escapeFault(_ at: Int) -> String? {
    guard at + 1 < file.count else { return nil }
    let digits = [UInt8(ascii: "u"): 4, UInt8(ascii: "x"): 2][file[at + 1]] ?? 0
    let isEscape =
      "\"'\\/bfnrtux\n\r".utf8.contains(file[at + 1])
      && file[(at + 2)...].prefix(digits).allSatisfy { "0123456789abcdefABCDEF".utf8.contains($0) }
    return isEscape ? nil : "a backslash that starts no escape must be doubled"
  }

  // MARK: Tokens

  private mutating func advance() { token = tokens.next() }

  private func stands(_ sign: Unicode.Scalar) -> Bool {
    guard let token, token.kind == .sign else { return false }
    return file[token.range.lowerBound] == UInt8(ascii: sign)
  }

  private mutating func takes(_ sign: Unicode.Scalar) -> Bool {
    guard stands(sign) else { return false }
    advance()
    return true
  }

  private mutating func open() throws(Fault) {
    guard let start = token?.range.lowerBound else { return }
    guard openings.count < FileScan.depthMax else { throw Fault(at: start, why: "it is nested too deeply") }
    openings.append(start)
    advance()
  }

  private mutating func note(_ found: Fault?) { fault = fault ?? found }

  private func missing(_ what: String) -> Fault {
    if let token {
      // Without its content, which may be part of a secret.
      let found = token.kind == .text ? "a string" : token.kind == .word ? "a word" : text(token.range)
      return Fault(at: token.range.lowerBound, why: "expected \(what), found \(found)")
    }
    if let comment = tokens.openComment { return Fault(at: comment, why: "the comment that starts here is not closed") }
    guard let opening = openings.last else { return Fault(at: file.count, why: "expected \(what)") }
    let place = FilePlace(of: opening, in: file)
    return Fault(
      at: file.count, why: "the file ends, but the \(text(opening..<opening + 1)) of \(place) is not closed")
  }

  private func text(_ range: Range<Int>) -> String { String(decoding: file[range], as: UTF8.self) }
}
