// The report as a table.
extension Report {
  var table: String {
    let run = run
    var lines = [
      "\(run.target): \(run.loop) on \(run.connections) connections of \(run.streams) streams, "
        + "\(fixed(run.durationSeconds, digits: 1)) s after \(fixed(run.warmUpSeconds, digits: 1)) s of warm-up, "
        + "seed \(run.seed)",
      "", Report.heading("call"),
    ]
    lines += calls.map(Report.line)
    lines += ["", Report.heading("iteration")]
    lines += iterations.map(Report.line)
    lines += ["", "\(grouped(ok)) correct responses, \(fixed(callsPerSecond, digits: 1)) calls/s"]
    if neverStarted > 0 {
      lines.append(
        "The run did not reach the rate: \(grouped(neverStarted)) iterations never started, and the latencies do not "
          + "include them.")
    }
    for row in calls {
      lines += row.flaws.map { "\(row.name): \(grouped($0.count)) × \($0.kind): \($0.why)" }
    }
    if let stuck { lines.append("The run ended early: \(stuck)") }
    if failed > 0 { lines.append("\(grouped(failed)) calls failed.") }
    return lines.joined(separator: "\n") + "\n"
  }

  private static let columns = ["/s", "right", "failed", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "max ms"]
  private static let nameWidth = 43
  private static let width = 11

  private static func heading(_ kind: String) -> String {
    kind.padded(right: nameWidth) + columns.map { $0.padded(left: width) }.joined()
  }

  private static func line(_ row: Row) -> String {
    let latencies = [row.micros.p50, row.micros.p90, row.micros.p99, row.micros.p999, row.micros.max]
    let cells = [fixed(row.perSecond, digits: 1), grouped(row.ok), grouped(row.failed)]
      + latencies.map { row.ok == 0 ? "-" : millis($0) }
    return row.name.padded(right: nameWidth) + cells.map { $0.padded(left: width) }.joined()
  }
}
