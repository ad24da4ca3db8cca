import ArgumentParser
import Moving
import Reactor
import Tokens

/// It names both sides itself, since a server's configuration has one store: a file or a database.
struct MoveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "move", abstract: "Copy everything from an embedded store into PostgreSQL, while no server runs.",
    discussion: """
      kill -TERM PID                # the server's; and wait for its end
      latchkey move --from latchkey.db --to "host=db1 dbname=latchkey …"
      latchkeyd --config FILE       # with store.postgres for store.path

      Run it on the server's machine and as its user. The database must be empty, but for tables without a row; with \
      options='-c search_path=NAME' in --to it is a schema that has to be.

      The file is checked, copied, and read once more beside what the database then holds: of each table the rows \
      and the SHA-256 of them all must be the same on both sides. Only then everything is committed, at once: whatever \
      goes wrong before leaves the database without a row, and the command can be run again. The file is not written \
      to: to go back, start the server on it as before, without what happened since.

      Secrets stay sealed on the way, so the servers on the database need the same master key.

      Exit codes: 0 moved; 1 the database refuses, holds rows already, or differs from the file; 2 the file cannot be \
      moved from, such as one that a server holds; 3 the database cannot be reached, or the connection was lost.
      """)

  @Option(name: .long, help: ArgumentHelp("The file, as store.path names it.", valueName: "file"))
  var from: String

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The database: libpq's keywords and values, or a postgresql:// URI, without a password.",
      valueName: "conninfo"))
  var to: String

  @Option(name: .long, help: ArgumentHelp("Its first line is the password.", valueName: "file"))
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

  // MARK: What is said

  private func report(_ moved: Moved, tookMillis: Int64) -> Report {
    let rows = moved.tables.reduce(0) { $0 + $1.target.rows }
    var lines = ["Moved: \(rows) rows in \(tookMillis / 1_000) s. On both sides, rows and their SHA-256:"]
    lines += table(moved.tables)
    if moved.changedTexts > 0 {
      lines.append("Texts with a NUL, which PostgreSQL cannot keep and now is \u{FFFD}: \(moved.changedTexts)")
    }
    lines.append("Then: start the server with store.postgres in place of store.path, and never again on the file.")
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
      return table.isSame ? line : "\(line)  BUT THERE  \(column(table.target))"
    }
  }

  private func ending(_ error: MoveError) -> Ending {
    switch error {
    case .source(let why): Ending.usage("--from", printable(why))
    case .unreachable(let why): refusal(.unreachable, "The database cannot be reached: \(why)", [])
    case .unknown(let why):
      refusal(.unreachable, "The connection was lost at the end: \(why)", [
        "Either everything was moved or nothing. Run it again: if it says that there are rows already, it was moved.",
      ])
    case .target(let why): refusal(.refused, "Nothing was moved: \(why)", [])
    case .differs(let tables):
      refusal(
        .refused, "Nothing was moved: what the database had is not what the file has.", table(tables),
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

/// The line that is written over while people wait.
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
