import ArgumentParser
import Client
import Reactor

/// What every command takes.
struct CommonOptions: ParsableArguments {
  @Option(name: .long, help: ArgumentHelp("Where the service is. ($LATCHKEY_SERVER)", valueName: "host:port"))
  var server: String?

  @Option(name: .long, help: ArgumentHelp("Its authority's certificate, PEM. ($LATCHKEY_CA)", valueName: "file"))
  var ca: String?

  @Option(name: .long, help: ArgumentHelp("Your own certificate, PEM. ($LATCHKEY_CERT)", valueName: "file"))
  var cert: String?

  @Option(name: .long, help: ArgumentHelp("The certificate's key. ($LATCHKEY_KEY)", valueName: "file"))
  var key: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The API key that says which service calls. ($LATCHKEY_API_KEY_FILE, or the key in $LATCHKEY_API_KEY)",
      valueName: "file"))
  var apiKeyFile: String?

  @Option(name: .long, help: ArgumentHelp("How long a call may take.", valueName: "seconds"))
  var timeout: UInt16 = 20

  @Option(name: .long, help: ArgumentHelp("Which of the remembered sessions. ($LATCHKEY_PROFILE)", valueName: "name"))
  var profile: String?

  @Option(
    name: .long,
    help: ArgumentHelp("Where sessions are remembered. ($LATCHKEY_SESSION_FILE)", valueName: "file"))
  var sessionFile: String?

  @Flag(name: .long, help: "Print one JSON document.")
  var json = false

  func validate() throws {
    guard (cert == nil) == (key == nil) else { throw ValidationError("--cert and --key go together.") }
    guard timeout > 0 else { throw ValidationError("--timeout is at least one second.") }
  }

  var profileName: String { profile ?? environmentVariable("LATCHKEY_PROFILE") ?? "default" }

  /// The XDG Base Directory Specification has state, such as this, below `~/.local/state`.
  var sessionPath: String {
    if let path = sessionFile ?? environmentVariable("LATCHKEY_SESSION_FILE") { return path }
    let state = environmentVariable("XDG_STATE_HOME") ?? (environmentVariable("HOME") ?? ".") + "/.local/state"
    return state + "/latchkey/session.json"
  }

  /// As it stands in commands that we propose: what was given here has to be given again.
  var repeated: [String] {
    let options = [
      ("--server", server), ("--ca", ca), ("--cert", cert), ("--key", key), ("--api-key-file", apiKeyFile),
      ("--profile", profile), ("--session-file", sessionFile),
    ]
    return options.flatMap { name, value in value.map { [name, $0] } ?? [] }
  }

  // MARK: The connection

  /// `host:port`, with an IPv6 address in brackets.
  var address: String { server ?? environmentVariable("LATCHKEY_SERVER") ?? "localhost:8443" }

  /// The development authority is believed for the development server only: a folder that somebody else has made must
  /// not decide who a real server is.
  private var authorityFile: String {
    if let file = ca ?? environmentVariable("LATCHKEY_CA") { return file }
    guard server == nil, environmentVariable("LATCHKEY_SERVER") == nil else { return "" }
    return (environmentVariable("LATCHKEY_HOME") ?? ".latchkey") + "/authority.pem"
  }

  func caller() throws -> Caller {
    guard let colon = address.lastIndex(of: ":"), let port = UInt16(address[address.index(after: colon)...]), port > 0,
      case let host = address[..<colon].trimmingBrackets, !host.isEmpty
    else { throw Ending.usage("--server", "\(address) is not host:port") }
    var settings = EndpointSettings(host: host, port: port, authorityFile: authorityFile)
    settings.certificateFile = cert ?? environmentVariable("LATCHKEY_CERT") ?? ""
    settings.keyFile = key ?? environmentVariable("LATCHKEY_KEY") ?? ""
    let timeoutMillis = Int64(timeout) * 1_000
    settings.connectMillis = timeoutMillis
    settings.resumesSessions = false
    let metadata = try apiKey().map { [CallOptions.apiKey($0)] } ?? []
    do throws(EndpointError) {
      return Caller(try Endpoint(settings), CallOptions(timeoutMillis: timeoutMillis, metadata: metadata))
    } catch {
      guard error.setting != "host" else { throw Ending.unreachable("\(error.why)") }
      let option = ["authority": "--ca", "certificate": "--cert", "key": "--key"][error.setting] ?? error.setting
      throw Ending.usage(option, error.why)
    }
  }

  private func apiKey() throws -> String? {
    if let file = apiKeyFile ?? environmentVariable("LATCHKEY_API_KEY_FILE") {
      let option = "--api-key-file"
      return try apiKey(SecretSource(option: option, file: file).read(), of: option)
    }
    return try environmentVariable("LATCHKEY_API_KEY").map { try apiKey($0, of: "$LATCHKEY_API_KEY") }
  }

  /// Without the empty lines that may follow it in a file. RFC 6750 2.1: a bearer token has no blank inside.
  private func apiKey(_ text: String, of option: String) throws -> String {
    var key = text
    while key.last?.isWhitespace == true { key.removeLast() }
    guard !key.isEmpty, key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw Ending.usage(option, "an API key is one word of visible ASCII characters")
    }
    return key
  }
}

extension Substring {
  /// RFC 3986 3.2.2: an IPv6 address stands in brackets, so that its colons are not the port's.
  fileprivate var trimmingBrackets: String {
    hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : String(self)
  }
}
