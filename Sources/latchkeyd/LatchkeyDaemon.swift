// latchkeyd: the program.
//
// Owns: arguments, the reading of the configuration file, signals, and exit codes (0: stopped as told, 1: a fault
// or what may pass, 64: wrong arguments, 78: a configuration that cannot be used).
// Does not own: what a setting means, or anything that runs once the server is made (Server).
// Read next: Served.swift, Server/Server.swift.

import ArgumentParser
import CoreMetrics
import Reactor
import Server

@main
struct LatchkeyDaemon: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "latchkeyd", abstract: "Account linking and sign-in, as gRPC over TLS.",
    discussion: """
      Reads one JSON5 file; every setting outside of lists can be overridden by an environment variable: \
      listen.port is LATCHKEY_LISTEN_PORT. SIGTERM lets calls in flight finish; a second one ends at once. SIGHUP \
      reads the certificate again, SIGUSR1 replaces the key that signs tokens.
      """,
    version: Build.version)

  @Option(name: .long, help: "The configuration file.")
  var config: String?

  @Flag(name: .long, help: "Print every fault of the configuration file, or ok, and start nothing.")
  var checkConfig = false

  @Flag(name: .long, help: "With --check-config: also ask every provider over the network, and print a line for each.")
  var online = false

  @Flag(name: .long, help: "Print every setting with its default and its meaning.")
  var listSettings = false

  func run() throws {
    if listSettings {
      for line in Settings.list() { print(line) }
      return
    }
    guard checkConfig || !online else { throw ValidationError("--online needs --check-config.") }
    guard let config else { throw ValidationError("--config FILE is needed; --list-settings shows what can be in it.") }
    blockSignals()
    let examined = Settings.examine(config)
    for fault in examined.faults { LatchkeyDaemon.complain(of: fault, in: config) }
    // One fault that stays is reason enough not to start again.
    if let fault = examined.faults.first(where: { !$0.isPassing }) ?? examined.faults.first {
      throw ExitCode(LatchkeyDaemon.exitCode(of: fault))
    }
    guard let settings = examined.settings else { return }
    guard checkConfig else { serve(settings, config) }
    for warning in settings.warnings + settings.warningsOfFiles() {
      writeAll(Array("latchkeyd: \(config): warning: \(warning)\n".utf8), to: 2)
    }
    print("\(config): ok")
    if online { try LatchkeyDaemon.checkProviders(settings) }
  }

  /// Prints a line for each provider, and fails with 1 if one of them does not work.
  private static func checkProviders(_ settings: Settings) throws {
    let lines = try waitFor { try await settings.checkProviders() }.get()
    for line in lines { print(line.text) }
    guard lines.allSatisfy(\.isWell) else { throw ExitCode(1) }
  }

  /// The main thread only waits for signals: it was alone when they were blocked, so no other thread takes them. A
  /// start may take minutes, where a table of the database is in use, and is given up at once when it is told to.
  private func serve(_ settings: Settings, _ config: String) -> Never {
    hardenProcess()
    let lines = JSONLines(level: settings.logLevel, descriptor: 2)
    let log = Log(lines)
    let metrics = MetricsRegistry(settings.limits)
    MetricsSystem.bootstrap(metrics)
    let served = Served(lines)
    startThread(named: "start") {
      switch waitFor({ try await Server(settings, log: log, metrics: metrics) }) {
      case .success(let server):
        served.begin(server)
        server.serve()
      case .failure(let error as ConfigurationError):
        lines.flush()
        LatchkeyDaemon.complain(of: error, in: config)
        exitNow(LatchkeyDaemon.exitCode(of: error))
      case .failure(let error):
        log.error("the server cannot start", ["why": "\(error)"])
        lines.flush()
        exitNow(1)
      }
    }
    while true { served.heed(waitForSignal()) }
  }

  private static func complain(of error: ConfigurationError, in config: String) {
    writeAll(Array("latchkeyd: \(config): \(error)\n".utf8), to: 2)
  }

  /// 78 (EX_CONFIG) where starting again would change nothing.
  private static func exitCode(of error: ConfigurationError) -> Int32 { error.isPassing ? 1 : 78 }
}
