internal import ArgumentParser
internal import Client

/// What the arguments may be. A run ends before the ID tokens and custom tokens that were made for it do.
enum LoadLimits {
  static let connections = 1...1_024
  /// Of one connection: the server takes a hundred.
  static let streams = 1...100
  static let ratePerSecond = 0.01...1_000_000.0
  static let durationSeconds = 0.1...3_000.0
  static let warmUpSeconds = 0.0...600.0
  static let timeoutSeconds = 1...600
  static let people = 1...10_000_000
  static let accountsFileBytesMax = 1 << 30
  static let tokensFileBytesMax = 1 << 30
  static let keyFileBytesMax = 4_096
}

struct ServiceOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Where the service is.", valueName: "host:port"))
  var server = "localhost:8443"

  @Option(help: ArgumentHelp("Its authority's certificate, PEM; by default those of the system.", valueName: "file"))
  var ca: String?

  @Option(help: ArgumentHelp("What its certificate is for, where that is not the host.", valueName: "name"))
  var serverName: String?

  @Option(help: ArgumentHelp("Your own certificate, PEM.", valueName: "file"))
  var cert: String?

  @Option(help: ArgumentHelp("The certificate's key.", valueName: "file"))
  var key: String?

  @Option(help: ArgumentHelp("The API key that says which service calls.", valueName: "file"))
  var apiKeyFile: String?

  @Option(help: ArgumentHelp("The API key for AdminService; by default the other one.", valueName: "file"))
  var adminKeyFile: String?

  func validate() throws {
    guard (cert == nil) == (key == nil) else { throw ValidationError("--cert and --key go together.") }
  }

  func target(_ load: LoadOptions) throws -> Target {
    guard let colon = server.lastIndex(of: ":"), let port = UInt16(server[server.index(after: colon)...]) else {
      throw ValidationError("--server must be HOST:PORT, not \(server).")
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
      throw FileError(description: "\(keyFile) does not hold an API key")
    }
    options.metadata = [CallOptions.apiKey(key)]
    return options
  }
}

struct LoadOptions: ParsableArguments {
  @Option(help: "Iterations a second that start whatever the server does; without it a closed loop.")
  var rate: Double?

  @Option(help: "Connections.")
  var connections = 4

  @Option(help: "Calls in flight on each connection, at most.")
  var streams = 16

  @Option(help: "Seconds that are measured.")
  var duration = 10.0

  @Option(help: "Seconds before them that are not.")
  var warmUp = 1.0

  @Option(help: "Seconds after which a call without an answer is lost.")
  var timeout = 20

  @Option(help: "Settles which workload and whom each iteration draws.")
  var seed: UInt64 = 1

  @Flag(help: "Handshakes take up the session of an earlier one.")
  var resume = false

  @Flag(help: "Handshakes are followed by no call.")
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

struct PeopleOptions: ParsableArguments {
  @Option(help: "People of each workload, made before the run; never fewer than calls in flight.")
  var prepare = 100

  @Option(help: "Accounts with passwords, read if it is there and written: later runs need not make them again.")
  var accountsFile: String?

  @Option(help: "ID tokens of providers, which deploy/load/tokens.py makes.")
  var tokens: String?

  @Option(help: "Addresses that fetch asks for, such as 'person{0-999999}@example.com', in place of prepared ones.")
  var addresses: String?

  @Option(help: "The provider that start-flow begins flows at.")
  var flowProvider = FlowWish().providerID

  @Option(help: "Where they, and mailed links, are to end: an address that the server has for this caller.")
  var redirectURI = FlowWish().redirectURI

  func validate() throws {
    try demand("--prepare", prepare, in: LoadLimits.people)
    if let addresses, Addresses(addresses) == nil {
      throw ValidationError("--addresses must hold one range of numbers, such as 'person{0-999}@example.com'.")
    }
  }

  func parts(of scenario: Scenario, _ target: Target) throws -> [Mix.Part] {
    var preparation = Preparation(target: target, scenario: scenario, peopleCount: prepare)
    preparation.onProgress = say
    preparation.addresses = addresses.flatMap { Addresses($0) }
    preparation.flow = FlowWish(providerID: flowProvider, redirectURI: redirectURI)
    if let tokens {
      preparation.tokens = try TokensFile.parse(
        readWhole(tokens, bytesMax: LoadLimits.tokensFileBytesMax), path: tokens)
    }
    if let accountsFile, fileExists(accountsFile) {
      preparation.known = try AccountsFile.parse(
        readWhole(accountsFile, bytesMax: LoadLimits.accountsFileBytesMax), path: accountsFile)
    }
    let parts = try preparation.prepare()
    if let accountsFile { try writeFile(accountsFile, AccountsFile.text(preparation.accounts), isSecret: true) }
    return parts
  }
}

struct OutputOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Writes the report as JSON; - is the standard output, in place of the table."))
  var json: String?

  @Option(help: "Writes a picture of the latencies as SVG.")
  var plot: String?

  @Flag(help: "No line a second on standard error.")
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
  /// Without these characters at either end.
  fileprivate func trimming(_ isLoose: (Character) -> Bool) -> String {
    guard let first = firstIndex(where: { !isLoose($0) }), let last = lastIndex(where: { !isLoose($0) }) else {
      return ""
    }
    return String(self[first...last])
  }
}
