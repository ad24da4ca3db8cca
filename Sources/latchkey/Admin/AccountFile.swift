import API
import ArgumentParser
import Client
import Reactor
import Tokens

/// A list of accounts in a file: ids or email addresses, one on each line.
///
/// A line with `@` is an email address, unless it begins with `id:`. Empty lines and lines that begin with `#` are
/// skipped.
struct AccountFile {
  struct Line {
    /// From 1.
    var number: Int
    var text: String
    var name: Name
  }

  enum Name {
    case id(String)
    case email(String)
  }

  private static let bytesMax = 256 << 20
  static let rowsPerCall = 500
  /// More than any ID or address has, and so few that the lines of a call fit into its message.
  static let lineBytesMax = 1_000

  let lines: [Line]

  /// - Parameter file: `-` means standard input.
  init(_ file: String) throws {
    lines = try AccountFile.texts(in: file).map { number, text in
      Line(number: number, text: text, name: AccountFile.name(text))
    }
    guard !lines.isEmpty else { throw Ending.usage("--file", "\(file) names no account") }
  }

  /// Returns the lines of a file with their numbers, without blanks at their ends. Skips empty lines and comments.
  static func texts(in file: String) throws -> [(number: Int, text: String)] {
    let bytes: [UInt8]
    do throws(SystemError) {
      let most = AccountFile.bytesMax
      bytes = file == "-" ? try wholeStandardInput(bytesMax: most) : try wholeFile(file, bytesMax: most)
    } catch {
      throw Ending.usage("--file", "\(file) cannot be read: \(error.reason)")
    }
    // Windows programs begin a file with a byte order mark, which is not part of the text.
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let content = bytes.dropFirst(bytes.starts(with: mark) ? mark.count : 0)
    guard let text = String(validating: content, as: UTF8.self) else {
      throw Ending.usage("--file", "\(file) is not UTF-8")
    }
    return text.split(omittingEmptySubsequences: false) { $0.isNewline }.enumerated().compactMap { index, line in
      let trimmed = trimmed(line)
      guard !trimmed.isEmpty, !trimmed.hasPrefix("#") else { return nil }
      return (index + 1, trimmed)
    }
  }

  static func trimmed(_ text: Substring) -> String {
    String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
  }

  private static func name(_ text: String) -> Name {
    if text.hasPrefix("id:") { return .id(String(text.dropFirst(3))) }
    return text.utf8.contains(UInt8(ascii: "@")) ? .email(text) : .id(text)
  }
}

/// A change of the accounts in a file, in calls of some hundred rows. A rejected line does not stop the others.
struct AccountFileRun {
  /// What one call changed, and its rejected rows.
  struct Portion {
    var done: Int
    var unchanged = 0
    var errors: [AccountError]
  }

  struct Rejected {
    /// More of a line would fill the terminal.
    private static let shownMax = 200

    var line: AccountFile.Line
    var reason: String
    var message: String

    var shownText: String { String(line.text.prefix(Rejected.shownMax)) }
  }

  let context: CommandContext
  /// Past tense of the change, such as `deleted`.
  let outcome: String
  /// Whether an account that is gone is as the user wants it, so that the command can be repeated.
  var acceptsMissing = false

  /// What became of the lines so far.
  private struct Tally {
    var done = 0
    var unchanged = 0
    var read = 0
    var rejected: [Rejected] = []
  }

  /// Changes the accounts. Returns the report, or throws it with exit code 1 if a line was rejected.
  func callAsFunction(_ file: AccountFile, _ change: ([String]) throws -> Portion) throws -> Report {
    var tally = Tally()
    do {
      for start in stride(from: 0, to: file.lines.count, by: AccountFile.rowsPerCall) {
        let lines = file.lines[start..<min(start + AccountFile.rowsPerCall, file.lines.count)]
        try carryOut(lines, change, &tally)
        if !context.common.json {
          showProgress("\(tally.read) of \(file.lines.count) lines, \(tally.rejected.count) rejected")
        }
      }
    } catch let ending as Ending where tally.read > 0 {
      if !context.common.json { showProgress(nil) }
      throw ending.following(self.report(tally))
    }
    if !context.common.json { showProgress(nil) }
    let report = report(tally)
    guard tally.rejected.isEmpty else { throw Ending(code: .refused, report: report) }
    return report
  }

  private func carryOut(
    _ lines: ArraySlice<AccountFile.Line>, _ change: ([String]) throws -> Portion, _ tally: inout Tally
  ) throws {
    var named: [(line: AccountFile.Line, id: String)] = []
    for line in lines {
      switch try id(of: line) {
      case .success(let id): named.append((line, id))
      case .failure(let reason, let message): take(line, reason, message, &tally)
      }
    }
    if !named.isEmpty {
      let portion = try change(named.map(\.id))
      tally.done += portion.done
      tally.unchanged += portion.unchanged
      for error in portion.errors where named.indices.contains(Int(error.row)) {
        take(named[Int(error.row)].line, error.reason?.word ?? "", error.message, &tally)
      }
    }
    tally.read += lines.count
  }

  private enum Found {
    case success(String)
    case failure(reason: String, message: String)
  }

  private func id(of line: AccountFile.Line) throws -> Found {
    guard line.text.utf8.count <= AccountFile.lineBytesMax else {
      return .failure(reason: "INVALID_FIELD", message: "The line is longer than an account ID or an address can be.")
    }
    switch line.name {
    case .id(let id): return .success(id)
    case .email(let email):
      do {
        let found = try context.call(AdminRPC.lookup, LookupRequest(subject: .email(email)))
        guard let account = found.account else { throw Ending.unknownAnswer }
        return .success(account.accountID)
      } catch let ending as Ending {
        guard let (reason, message) = ending.rowFailure else { throw ending }
        return .failure(reason: reason, message: message)
      }
    }
  }

  private func take(_ line: AccountFile.Line, _ reason: String, _ message: String, _ tally: inout Tally) {
    if acceptsMissing, reason == "ACCOUNT_NOT_FOUND" {
      tally.unchanged += 1
    } else {
      tally.rejected.append(Rejected(line: line, reason: reason, message: message))
    }
  }

  private func report(_ tally: Tally) -> Report {
    let rejected = tally.rejected.sorted { $0.line.number < $1.line.number }
    var lines = rejected.map {
      "Line \($0.line.number): \(printable($0.shownText)): \($0.reason) \(printable($0.message))"
    }
    lines.append("\(tally.done) \(outcome), \(tally.unchanged) unchanged, \(rejected.count) rejected.")
    return Report(lines, [
      JSONMember("outcome", .string(outcome)), JSONMember("changed", .int(Int64(tally.done))),
      JSONMember("unchanged", .int(Int64(tally.unchanged))),
      JSONMember("errors", .array(rejected.map { each in
        .object([
          JSONMember("line", .int(Int64(each.line.number))), JSONMember("account", .string(each.shownText)),
          JSONMember("reason", .string(each.reason)), JSONMember("message", .string(each.message)),
        ])
      })),
    ])
  }
}

extension Ending {
  /// Returns the ending of a call that failed after others had changed something: first their report, then the failure.
  func following(_ done: Report) -> Ending {
    Ending(code: code, report: Report(done.lines + report.lines, done.members + report.members))
  }

  /// The reason and the text of a failure that concerns one address only; nil: the whole command fails.
  fileprivate var rowFailure: (reason: String, message: String)? {
    guard code == .refused, let error = report.members.first(where: { $0.name == "error" })?.value.members,
      case .string(let reason) = error.first(where: { $0.name == "reason" })?.value
    else { return nil }
    switch reason {
    case "ACCOUNT_NOT_FOUND": return (reason, "No account has this address.")
    case "INVALID_EMAIL": return (reason, "The line is not a valid email address.")
    default: return nil
    }
  }
}

/// One account by its id, or the accounts in a file.
struct NamedAccounts: ParsableArguments {
  @Argument(help: "Account ID, unless --file names the accounts.") var id: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "File with IDs or email addresses, one on each line; - for standard input. The exit code is 1 if a line was "
        + "rejected.", valueName: "file"))
  var file: String?

  func validate() throws {
    guard (id == nil) != (file == nil) else { throw ValidationError("Give either an account ID or --file.") }
  }

  func setDisabled(_ disabled: Bool, _ context: CommandContext) throws -> Report {
    try AccountFileRun(context: context, outcome: disabled ? "disabled" : "enabled")(AccountFile(file ?? "-")) { ids in
      let answer = try context.call(
        AdminRPC.setAccountsDisabled, SetAccountsDisabledRequest(accountIDs: ids, disabled: disabled))
      return AccountFileRun.Portion(
        done: Int(answer.changed), unchanged: Int(answer.unchanged), errors: answer.errors)
    }
  }

  func delete(_ context: CommandContext) throws -> Report {
    let run = AccountFileRun(context: context, outcome: "deleted", acceptsMissing: true)
    return try run(AccountFile(file ?? "-")) { ids in
      let answer = try context.call(AdminRPC.deleteAccounts, DeleteAccountsRequest(accountIDs: ids))
      return AccountFileRun.Portion(done: Int(answer.deleted), errors: answer.errors)
    }
  }
}
