import API
import ArgumentParser
import Client
import Reactor
import Tokens

struct SetTransferIDs: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "set-transfer-ids",
    abstract: "Store Apple's transfer identifiers before an app moves to another team.",
    discussion: """
      latchkey set-transfer-ids --file users.csv

      Each line of the file has the user's sub and its transfer_sub, separated by a comma. The command skips empty \
      lines and those that begin with #. The exit code is 1 if a line was rejected.
      """)

  @Option(name: .long, help: "File with SUB,TRANSFER_SUB on each line; - for standard input.") var file: String

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let lines = try SetTransferIDs.read(file)
    var (changed, unchanged) = (0, 0)
    var rejected: [(line: Int, error: TransferError)] = []
    for start in stride(from: 0, to: lines.count, by: AccountFile.rowsPerCall) {
      let portion = Array(lines[start..<min(start + AccountFile.rowsPerCall, lines.count)])
      let request = SetTransferSubjectsRequest(rows: portion.map(\.row))
      let answer: SetTransferSubjectsResponse
      do {
        answer = try context.call(AdminRPC.setTransferSubjects, request)
      } catch let ending as Ending where start > 0 {
        throw ending.following(SetTransferIDs.report(changed, unchanged, rejected))
      }
      changed += Int(answer.changed)
      unchanged += Int(answer.unchanged)
      for error in answer.errors where portion.indices.contains(Int(error.row)) {
        rejected.append((portion[Int(error.row)].number, error))
      }
    }
    let report = SetTransferIDs.report(changed, unchanged, rejected)
    guard rejected.isEmpty else { throw Ending(code: .refused, report: report) }
    return report
  }

  private static func report(
    _ changed: Int, _ unchanged: Int, _ rejected: [(line: Int, error: TransferError)]
  ) -> Report {
    var lines = rejected.map { line, error in
      "Line \(line): \(printable(error.subject)): \(error.reason?.word ?? "") \(printable(error.message))"
    }
    lines.append("\(changed) stored, \(unchanged) unchanged, \(rejected.count) rejected.")
    let errors = rejected.map { line, error in
      JSONValue.object([
        JSONMember("line", .int(Int64(line))), JSONMember("subject", .string(error.subject)),
        JSONMember("reason", .string(error.reason?.word ?? "")), JSONMember("message", .string(error.message)),
      ])
    }
    return Report(lines, [
      JSONMember("outcome", .string("stored")), JSONMember("changed", .int(Int64(changed))),
      JSONMember("unchanged", .int(Int64(unchanged))), JSONMember("errors", .array(errors)),
    ])
  }

  private static func read(_ file: String) throws -> [(number: Int, row: TransferRow)] {
    let rows = try AccountFile.texts(in: file).map { number, text -> (number: Int, row: TransferRow) in
      let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(AccountFile.trimmed)
      guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
        throw Ending.usage("--file", "line \(number) is not SUB,TRANSFER_SUB")
      }
      return (number, TransferRow(subject: parts[0], transferSubject: parts[1]))
    }
    guard !rows.isEmpty else { throw Ending.usage("--file", "\(file) names no user") }
    return rows
  }
}
