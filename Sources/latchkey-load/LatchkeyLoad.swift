// latchkey-load: the load generator.
//
// Owns: workloads for every call of the service, their pace (open and closed loops), the checks of responses, latencies
// and the report.
// Does not own: connections, frames and the rules of a call (Client), the generated messages (API).
// Read next: Run/Runner.swift, which runs everything on one thread; Scenario/Workload.swift, Calls/Call.swift,
// Work/AuthWork.swift, Pace/Pace.swift, Measure/Recorder.swift.

internal import ArgumentParser
internal import Client
internal import Reactor

@main
struct LatchkeyLoad: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "latchkey-load", abstract: "Simulate many concurrent callers of Latchkey, and check every response.",
    discussion: """
      Without --rate the load is a closed loop: each of connections × streams callers sends its next call when it has \
      received a response. With --rate the load is an open loop: iterations start at the given rate, independently of \
      the server. Latency counts from the intended start, so it includes the time spent waiting for a stalled server.

      Exit codes: 0 all responses were correct; 1 a response was not; 2 the run failed; 64 invalid arguments.

      Workloads:
      \(Workload.all.map { "  \($0.name.padded(right: 25))\($0.meaning)" }.joined(separator: "\n"))

      Calls without a workload:
      \(Workload.leftOut.map { "  \($0.call): \($0.why)" }.joined(separator: "\n"))
      """)

  @Argument(
    help: ArgumentHelp("The workload, unless --scenario is given.", valueName: "workload"),
    completion: .list(Workload.allValueStrings))
  var workload: Workload?

  @Option(help: "JSON5 file with a weighted mix of workloads.")
  var scenario: String?

  @OptionGroup(title: "Server and caller")
  var service: ServiceOptions

  @OptionGroup(title: "Load")
  var load: LoadOptions

  @OptionGroup(title: "Users")
  var users: UserOptions

  @OptionGroup(title: "Report")
  var output: OutputOptions

  func validate() throws {
    guard (workload == nil) != (scenario == nil) else { throw ValidationError("Give either a workload or --scenario.") }
    try load.validate()
    guard workload?.isHandshake == true || !(load.resume || load.withoutCall) else {
      throw ValidationError("Use --resume and --without-call with the workload handshake only.")
    }
  }

  func run() throws {
    do {
      let report = try measure()
      try output.write(report.report, report.plot)
      if report.report.failed > 0 { throw ExitCode(1) }
    } catch let error as ExitCode {
      throw error
    } catch let error as ScenarioError {
      throw ValidationError("\(scenario ?? ""): \(error)")
    } catch {
      say("latchkey-load: \(error)")
      throw ExitCode(2)
    }
  }

  private func measure() throws -> (report: Report, plot: Plot) {
    let scenario = try readScenario()
    let target = try service.target(load)
    let isHandshake = workload?.isHandshake == true
    let preparation = Preparation(scenario, target, users, load)
    let parts = try isHandshake ? preparation.parts() : users.parts(of: preparation)
    let runner = try Runner(to: target, isHandshake ? .momentary : .lasting, Mix(parts, seed: load.seed)) { start in
      let period = Period(
        startNanos: start, warmUpNanos: nanos(load.warmUp), measuredNanos: nanos(load.duration))
      let pace = load.rate.map { Pace.open(Arrivals(ratePerSecond: $0, period: period)) } ?? .closed(period)
      return (pace, Recorder(iterations: parts.map(\.workload), period: period))
    }
    if !output.quiet { runner.onProgress = progress() }
    listenForSignals(runner.interrupt)
    let outcome = try runner.run()
    let facts = RunFacts(
      target: service.server, ratePerSecond: load.rate, connections: target.connections, streams: target.streams,
      seed: load.seed, warmUpSeconds: load.warmUp, durationSeconds: load.duration)
    let named = workload?.name ?? self.scenario ?? ""
    return (Report(facts, outcome), Plot(title: "\(named) at \(service.server), \(facts.loop)", outcome.recorder))
  }

  /// Handles SIGTERM and SIGINT. The first signal ends the run early with a report, the second ends the process.
  private func listenForSignals(_ interrupt: @escaping @Sendable () -> Void) {
    blockSignals()
    startThread(named: "signals") {
      while waitForSignal() != .terminate {}
      interrupt()
      while waitForSignal() != .terminate {}
      exitNow(130)
    }
  }

  private func readScenario() throws -> Scenario {
    if let workload { return Scenario([.init(workload: workload, weight: 1)]) }
    return try Scenario.parse(readWhole(scenario ?? "", bytesMax: 1 << 20))
  }

  private func progress() -> (Recorder, Int, Int) -> Void {
    var seconds = 0
    return { recorder, inFlight, backlog in
      seconds += 1
      let (count, summary) = recorder.takeRecent()
      say(
        "\("\(seconds)".padded(left: 5)) s  \(grouped(count).padded(left: 9)) calls/s  p50 \(millis(summary.p50)) ms  "
          + "p99 \(millis(summary.p99)) ms  in flight \(inFlight)  backlog \(grouped(backlog))  "
          + "failed \(grouped(recorder.failed))")
    }
  }
}

func say(_ line: String) { writeAll(Array((line + "\n").utf8), to: 2) }

func nanos(_ seconds: Double) -> Int64 { Int64((seconds * 1e9).rounded()) }

extension Workload: ExpressibleByArgument {
  init?(argument: String) { self.init(named: argument) }

  static var allValueStrings: [String] { all.map(\.name) }
}
