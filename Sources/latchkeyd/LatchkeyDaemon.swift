// latchkeyd: the program.
//
// Owns: arguments, the reading of the configuration file, signals, and exit codes (0: stopped as told, 1: a fault
// or what may pass, 64: wrong arguments, 78: a configuration that cannot be used).
// Does not own: what a setting means, or anything that runs once the server is made (Server).
// Read next: Server/Server.swift.

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

  @Flag(name: .long, help: "Check the configuration file, print ok, and start nothing.")
  var checkConfig = false

  @Flag(name: .long, help: "Print every setting with its default and its meaning.")
  var listSettings = false

  func run() throws {
    if listSettings {
      for line in Settings.list() { print(line) }
      return
    }
    guard let config else { throw ValidationError("--config FILE is needed; --list-settings shows what can be in it.") }
    blockSignals()
    do {
      let settings = try Settings.read(config)
      if checkConfig {
        try settings.checkFiles()
        for warning in settings.warnings + settings.warningsOfFiles() {
          writeAll(Array("latchkeyd: \(config): warning: \(warning)\n".utf8), to: 2)
        }
        return print("\(config): ok")
      }
      try serve(settings)
    } catch let error as ConfigurationError {
      writeAll(Array("latchkeyd: \(config): \(error)\n".utf8), to: 2)
      throw error.isPassing ? ExitCode.failure : ExitCode(78)
    }
  }

  /// The main thread only waits for signals: it was alone when they were blocked, so no other thread takes them.
  private func serve(_ settings: Settings) throws {
    hardenProcess()
    let lines = JSONLines(level: settings.logLevel, descriptor: 2)
    let log = Log(lines)
    let metrics = MetricsRegistry(settings.limits)
    MetricsSystem.bootstrap(metrics)
    let started = waitFor { try await Server(settings, log: log, metrics: metrics) }
    let server: Server
    do {
      server = try started.get()
    } catch let error as ConfigurationError {
      throw error
    } catch {
      log.error("the server cannot start", ["why": "\(error)"])
      lines.flush()
      throw ExitCode.failure
    }
    heedSignals(server)
    Task.detached {
      await server.drain()
      startThread(named: "last-lines") {
        lines.flush()
        exitNow(0)
      }
      // A pipe or terminal that nobody empties must not keep the process.
      try? await Task.sleep(nanoseconds: 1_000_000_000)
      exitNow(0)
    }
    while waitForSignal() != .terminate {}
    exitNow(1)
  }

  /// Until the one that ends the server.
  private func heedSignals(_ server: Server) {
    while true {
      switch waitForSignal() {
      case .reload: server.reloadCertificate()
      case .rotateKeys: server.rotateSigningKeys()
      case .terminate: return
      }
    }
  }
}
