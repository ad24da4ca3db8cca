internal import ArgumentParser
internal import Client

/// The valid ranges of arguments. They ensure that a run ends before its ID tokens and custom tokens expire.
enum LoadLimits {
  static let connections = 1...1_024
  /// Concurrent calls for each connection. The server accepts 100.
  static let streams = 1...100
  static let ratePerSecond = 0.01...1_000_000.0
  static let durationSeconds = 0.1...3_000.0
  static let warmUpSeconds = 0.0...600.0
  static let timeoutSeconds = 1...600
  static let users = 1...10_000_000
  static let accountsFileBytesMax = 1 << 30
  static let tokensFileBytesMax = 1 << 30
  static let keyFileBytesMax = 4_096
}

struct ServiceOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Address of the server.", valueName: "host:port"))
  var server = "localhost:8443"

  @Option(help: ArgumentHelp("PEM file of trusted certificate authorities. (default: the system's)", valueName: "file"))
  var ca: String?

  @Option(help: ArgumentHelp("Name in the server's certificate. (default: the host)", valueName: "name"))
  var serverName: String?

  @Option(help: ArgumentHelp("PEM file of the client certificate.", valueName: "file"))
  var cert: String?

  @Option(help: ArgumentHelp("PEM file of the client certificate's key.", valueName: "file"))
  var key: String?

  @Option(help: ArgumentHelp("File with the caller's API key.", valueName: "file"))
  var apiKeyFile: String?

  @Option(help: ArgumentHelp("File with the API key for AdminService. (default: --api-key-file)", valueName: "file"))
  var adminKeyFile: String?

  func validate() throws {
    guard (cert == nil) == (key == nil) else { throw ValidationError("Give both --cert and --key, or neither.") }
  }

  func target(_ load: LoadOptions) throws -> Target {
    guard let colon = server.lastIndex(of: ":"), let port = UInt16(server[server.index(after: colon)...]) else {
      throw ValidationError("Give --server as HOST:PORT, not as \(server).")
    }
    let host = server[..<colon].trimming { "[]".contains($0) }
    var settings = EndpointSettings(host: host, port: port, authorityFile: ca ?? "")
    settings.serverName = serverName
    settings.certificateFile = cert ?? ""
    settings.keyFile = key ?? ""
    settings.resumesSessions = load.resume
    let own = try options(apiKeyFile, load)
    return Target(
      endpoint: try Endpoint(settings), options: own,
      adminOptions: try adminKeyFile.map { try options($0, load) } ?? own, connections: load.connections,
      streams: load.streams)
  }

  private func options(_ keyFile: String?, _ load: LoadOptions) throws -> CallOptions {
    var options = CallOptions(timeoutMillis: Int64(load.timeout) * 1_000)
    guard let keyFile else { return options }
    let bytes = try readWhole(keyFile, bytesMax: LoadLimits.keyFileBytesMax)
    let key = String(decoding: bytes, as: UTF8.self)[...].trimming { $0.isWhitespace }
    guard !key.isEmpty, key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw FileError(description: "\(keyFile) contains no API key")
    }
    options.metadata = [CallOptions.apiKey(key)]
    return options
  }
}

struct LoadOptions: ParsableArguments {
  @Option(help: "Iterations started each second (open loop). (default: closed loop)")
  var rate: Double?

  @Option(help: "Number of connections.")
  var connections = 4

  @Option(help: "Maximum number of calls in flight on each connection.")
  var streams = 16

  @Option(help: "Duration of the measurement, in seconds.")
  var duration = 10.0

  @Option(help: "Duration of the warm-up before the measurement, in seconds.")
  var warmUp = 1.0

  @Option(help: "Deadline of each call, in seconds.")
  var timeout = 20

  @Option(help: "Seed of the random choice of workloads and users.")
  var seed: UInt64 = 1

  @Flag(help: "Resume the TLS session of an earlier handshake.")
  var resume = false

  @Flag(help: "Make no call after a handshake.")
  var withoutCall = false

  func validate() throws {
    try demand("--connections", connections, in: LoadLimits.connections)
    try demand("--streams", streams, in: LoadLimits.streams)
    try demand("--duration", duration, in: LoadLimits.durationSeconds)
    try demand("--warm-up", warmUp, in: LoadLimits.warmUpSeconds)
    try demand("--timeout", timeout, in: LoadLimits.timeoutSeconds)
    if let rate { try demand("--rate", rate, in: LoadLimits.ratePerSecond) }
  }
}

struct UserOptions: ParsableArguments {
  @Option(help: "Users to create for each workload before the run; at least the number of calls in flight.")
  var prepare = 100

  @Option(help: "File of accounts with passwords. Read if it exists, then written, so that later runs reuse accounts.")
  var accountsFile: String?

  @Option(help: "File of providers' ID tokens, made by deploy/load/tokens.py.")
  var tokens: String?

  @Option(help: "Email addresses for fetch, such as 'user{0-999999}@example.com'. (default: those of created users)")
  var addresses: String?

  @Option(help: "Provider for start-flow.")
  var flowProvider = "oidc.corp"

  @Option(help: "Redirect URI of flows and of links sent by email; one of the caller's `redirect_uris`.")
  var redirectURI = "http://localhost:3000/callback"

  func validate() throws {
    try demand("--prepare", prepare, in: LoadLimits.users)
    if let addresses, Addresses(addresses) == nil {
      throw ValidationError("Give --addresses one range of numbers, such as 'user{0-999}@example.com'.")
    }
  }

  /// Reads the files, prepares the users, and writes their accounts.
  func parts(of preparation: Preparation) throws -> [Mix.Part] {
    if let tokens {
      preparation.tokens = try TokensFile.parse(
        readWhole(tokens, bytesMax: LoadLimits.tokensFileBytesMax), path: tokens)
    }
    if let accountsFile, fileExists(accountsFile) {
      preparation.known = try AccountsFile.parse(
        readWhole(accountsFile, bytesMax: LoadLimits.accountsFileBytesMax), path: accountsFile)
    }
    let parts = try preparation.parts()
    if let accountsFile { try writeFile(accountsFile, AccountsFile.text(preparation.accounts), isSecret: true) }
    return parts
  }
}

struct OutputOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Write the report as JSON to a file, or with - to standard output instead of the table."))
  var json: String?

  @Option(help: "Write a plot of the latencies as SVG to a file.")
  var plot: String?

  @Flag(help: "Do not print progress to standard error.")
  var quiet = false

  func write(_ report: Report, _ picture: Plot) throws {
    if let plot { try writeFile(plot, Array(picture.svg.utf8)) }
    if json == "-" {
      print(String(decoding: report.json, as: UTF8.self), terminator: "")
    } else {
      if let json { try writeFile(json, report.json) }
      print(report.table, terminator: "")
    }
  }
}

private func demand<Value: Comparable>(_ name: String, _ value: Value, in range: ClosedRange<Value>) throws {
  guard range.contains(value) else {
    throw ValidationError("\(name) must be from \(range.lowerBound) to \(range.upperBound), not \(value).")
  }
}

extension Substring {
  /// Removes matching characters from both ends.
  fileprivate func trimming(_ isLoose: (Character) -> Bool) -> String {
    guard let first = firstIndex(where: { !isLoose($0) }), let last = lastIndex(where: { !isLoose($0) }) else {
      return ""
    }
    return String(self[first...last])
  }
}
