// latchkeyd: the program.
//
// Owns: arguments, the configuration file, signals, and exit codes (0: stopped on request, 1: an error or a temporary
// failure, 64: wrong arguments, 78: an unusable configuration).
// Does not own: the meaning of a setting, or anything that runs once the server exists (Server).
// Read next: Served.swift, Server/Server.swift.

import ArgumentParser
import Configuration
import CoreMetrics
import Observability
import Reactor
import Server

@main
struct LatchkeyDaemon: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "latchkeyd", abstract: "Sign-in and account linking service: gRPC over TLS.",
    discussion: """
      Reads one JSON5 file. An environment variable can override every setting outside of lists: \
      LATCHKEY_LISTEN_PORT sets listen.port. SIGTERM lets calls in flight finish; a second SIGTERM ends the server \
      immediately. SIGHUP reloads the configuration and the certificate, SIGUSR1 replaces the key that signs tokens.
      """,
    version: Build.version)

  @Option(name: .long, help: "The configuration file.")
  var config: String?

  @Flag(name: .long, help: "Check the configuration file: print all errors, or ok, and exit.")
  var checkConfig = false

  @Flag(name: .long, help: "With --check-config: also check every provider over the network and print one line each.")
  var online = false

  @Flag(name: .long, help: "Migrate the schema of the store, print the version before and after, and exit.")
  var migrate = false

  @Flag(name: .long, help: "Print every setting with its default and description.")
  var listSettings = false

  func run() throws {
    if listSettings {
      for line in Settings.list() { print(line) }
      return
    }
    guard checkConfig || !online else { throw ValidationError("--online requires --check-config.") }
    guard !(checkConfig && migrate) else { throw ValidationError("Use either --migrate or --check-config.") }
    guard let config else { throw ValidationError("Set --config FILE. --list-settings shows its settings.") }
    blockSignals()
    let examined = Settings.examine(config)
    for fault in examined.faults { LatchkeyDaemon.complain(of: fault, in: config) }
    // A permanent fault takes precedence: then a restart does not help.
    if let fault = examined.faults.first(where: { !$0.isPassing }) ?? examined.faults.first {
      throw ExitCode(LatchkeyDaemon.exitCode(of: fault))
    }
    guard let settings = examined.settings else { return }
    if migrate { return try LatchkeyDaemon.migrate(settings, config) }
    guard checkConfig else { serve(settings, config) }
    for warning in settings.warnings + settings.warningsOfFiles() {
      writeAll(Array("latchkeyd: \(config): warning: \(warning)\n".utf8), to: 2)
    }
    print("\(config): ok")
    if online { try LatchkeyDaemon.checkProviders(settings) }
  }

  /// Prints one line per provider; exits with 1 if a provider does not work.
  private static func checkProviders(_ settings: Settings) throws {
    let lines = try waitFor { try await settings.checkProviders() }.get()
    for line in lines { print(line.text) }
    guard lines.allSatisfy(\.isWell) else { throw ExitCode(1) }
  }

  /// Servers of the previous schema may run, except with a file, which has one server.
  private static func migrate(_ settings: Settings, _ config: String) throws {
    switch waitFor({ try await settings.migrateStore() }) {
    case .success(let what): print(what)
    case .failure(let error as ConfigurationError):
      complain(of: error, in: config)
      throw ExitCode(exitCode(of: error))
    case .failure(let error): throw error
    }
  }

  /// Runs the server. The main thread only waits for signals: it blocks them before other threads exist, so no other
  /// thread receives them. The start may take minutes while a database table is locked; SIGTERM ends it immediately.
  private func serve(_ settings: Settings, _ config: String) -> Never {
    hardenProcess()
    let lines = JSONLines(level: settings.logLevel, descriptor: 2)
    let log = Log(lines)
    let metrics = MetricsRegistry(seriesMax: settings.metricSeriesMax)
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

  /// Returns 78 (EX_CONFIG) if a restart cannot help, otherwise 1.
  private static func exitCode(of error: ConfigurationError) -> Int32 { error.isPassing ? 1 : 78 }
}
