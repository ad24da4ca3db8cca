import ArgumentParser
import StoreMigration
import Reactor
import Tokens

/// The command `move`. Its arguments name both stores, because a server's configuration has only one.
struct MoveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "move", abstract: "Copy an embedded store into PostgreSQL, while no server runs.",
    discussion: """
      kill -TERM PID            # stop the server, and wait until it has exited
      latchkey move --from latchkey.db --to "host=db1 dbname=latchkey …"
      latchkeyd --config FILE   # with store.postgres instead of store.path

      Run the command on the server's machine as the server's user. The database must be empty, except for tables \
      without rows. With options='-c search_path=NAME' in --to, only that schema must be empty.

      The command checks the file, copies it, and compares both sides: each table must have the same rows and the \
      same SHA-256 over all rows. Then it commits everything in one transaction. If a step fails before, the database \
      stays empty, and you can run the command again. The command does not write to the file. To go back, start the \
      server on the file again; it lacks all later changes.

      Secrets stay encrypted, so the servers on the database need the same master key.

      Exit codes: 0 moved; 1 the database reports an error, has rows already, or differs from the file; 2 the file \
      cannot be moved, for example because a server uses it; 3 the database cannot be reached, or the connection was \
      lost.
      """)

  @Option(name: .long, help: ArgumentHelp("Database file, as in store.path.", valueName: "file"))
  var from: String

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Connection string of the database: libpq keywords and values or a postgresql:// URI, without a password.",
      valueName: "conninfo"))
  var to: String

  @Option(name: .long, help: ArgumentHelp("File with the password in its first line.", valueName: "file"))
  var toPasswordFile: String?

  @Flag(name: .long, help: "Print one JSON document.")
  var json = false

  func run() throws { try show(asJSON: json, perform) }

  private func perform() throws -> Report {
    if let fault = Move.fault(ofConninfo: to, passwordOption: "--to-password-file") {
      throw Ending.usage("--to", fault)
    }
    if let toPasswordFile {
      do throws(SystemError) {
        _ = try wholeFile(toPasswordFile, bytesMax: 4_096)
      } catch {
        throw Ending.usage("--to-password-file", "\(toPasswordFile) cannot be read: \(error.reason)")
      }
    }
    let beganMillis = monotonicMillis()
    let progress = MoveProgress(isShown: !json)
    defer { progress.end() }
    do throws(MoveError) {
      let move = try Move(from: from, to: to, passwordFile: toPasswordFile ?? "") { progress.show($0) }
      let moved = try move.run()
      return report(moved, tookMillis: monotonicMillis() - beganMillis)
    } catch {
      throw ending(error)
    }
  }

  // MARK: Reports

  private func report(_ moved: Moved, tookMillis: Int64) -> Report {
    let rows = moved.tables.reduce(0) { $0 + $1.target.rows }
    var lines = ["Moved: \(rows) rows in \(tookMillis / 1_000) s. Rows and SHA-256, equal on both sides:"]
    lines += table(moved.tables)
    if moved.changedTexts > 0 {
      lines.append("Texts with a NUL, which PostgreSQL cannot store and is now \u{FFFD}: \(moved.changedTexts)")
    }
    lines.append("Next: start the server with store.postgres instead of store.path. Do not use the file again.")
    return Report(lines, [
      JSONMember("outcome", .string("moved")), JSONMember("rows", .int(Int64(rows))),
      JSONMember("changed_texts", .int(Int64(moved.changedTexts))), JSONMember("took_millis", .int(tookMillis)),
      JSONMember("tables", .array(moved.tables.map(\.json))),
    ])
  }

  private func table(_ tables: [ComparedTable]) -> [String] {
    let nameWidth = tables.map(\.name.count).max() ?? 0
    let rowsWidth = tables.flatMap { ["\($0.source.rows)".count, "\($0.target.rows)".count] }.max() ?? 0
    func column(_ sum: TableSum) -> String {
      let rows = "\(sum.rows)"
      return String(repeating: " ", count: rowsWidth - rows.count) + "\(rows)  \(sum.sha256.prefix(16))…"
    }
    return tables.map { table in
      let name = table.name + String(repeating: " ", count: nameWidth - table.name.count)
      let line = "  \(name)  \(column(table.source))"
      return table.isSame ? line : "\(line)  DIFFERS FROM  \(column(table.target))"
    }
  }

  private func ending(_ error: MoveError) -> Ending {
    switch error {
    case .source(let why): Ending.usage("--from", printable(why))
    case .unreachable(let why): refusal(.unreachable, "The database cannot be reached: \(why)", [])
    case .unknown(let why):
      refusal(.unreachable, "The connection was lost during the commit: \(why)", [
        "Either everything was moved or nothing. Run the command again: if it reports existing rows, all was moved.",
      ])
    case .target(let why): refusal(.refused, "Nothing was moved: \(why)", [])
    case .differs(let tables):
      refusal(
        .refused, "Nothing was moved: the copied rows differ from the file.", table(tables),
        [JSONMember("tables", .array(tables.map(\.json)))])
    }
  }

  private func refusal(
    _ code: Ending.Code, _ text: String, _ lines: [String], _ members: [JSONMember] = []
  ) -> Ending {
    let error = JSONValue.object([JSONMember("message", .string(text))] + members)
    return Ending(code: code, report: Report([printable(text)] + lines, [JSONMember("error", error)]))
  }
}

extension ComparedTable {
  fileprivate var json: JSONValue {
    func side(_ sum: TableSum) -> JSONValue {
      .object([JSONMember("rows", .int(Int64(sum.rows))), JSONMember("sha256", .string(sum.sha256))])
    }
    return .object([
      JSONMember("name", .string(name)), JSONMember("same", .bool(isSame)), JSONMember("from", side(source)),
      JSONMember("to", side(target)),
    ])
  }
}

/// The progress line on a terminal, overwritten at each step.
private final class MoveProgress {
  private let isShown: Bool
  private var isBegun = false

  init(isShown: Bool) { self.isShown = isShown }

  func show(_ step: MoveStep) {
    guard isShown else { return }
    isBegun = true
    let text =
      switch step {
      case .checking: "checking the file"
      case .copying(let table, let rows): "copying \(table): \(rows) rows"
      case .comparing(let table): "comparing \(table)"
      }
    showProgress(text + String(repeating: " ", count: max(0, 40 - text.count)))
  }

  func end() {
    if isBegun { showProgress(nil) }
    isBegun = false
  }
}
