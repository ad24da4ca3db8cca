import ArgumentParser
import Client
import Reactor

/// The confirmation that a command needs before it deletes an account.
struct DeletionConfirmation: ParsableArguments {
  @Flag(name: .long, help: "Yes, delete it.")
  var yes = false

  func validate() throws {
    guard yes else { throw ValidationError("An account that is deleted does not come back: add --yes.") }
  }
}

/// What every command takes.
struct CommonOptions: ParsableArguments {
  @Option(name: .long, help: ArgumentHelp("Address of the server. ($LATCHKEY_SERVER)", valueName: "host:port"))
  var server: String?

  @Option(name: .long, help: ArgumentHelp("PEM file of trusted authorities. ($LATCHKEY_CA)", valueName: "file"))
  var ca: String?

  @Option(name: .long, help: ArgumentHelp("PEM file of the client certificate. ($LATCHKEY_CERT)", valueName: "file"))
  var cert: String?

  @Option(name: .long, help: ArgumentHelp("PEM file of the certificate's key. ($LATCHKEY_KEY)", valueName: "file"))
  var key: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "File with the caller's API key. ($LATCHKEY_API_KEY_FILE, or the key in $LATCHKEY_API_KEY)",
      valueName: "file"))
  var apiKeyFile: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The human for whom a support tool acts, for the events; the caller needs the right actor. ($LATCHKEY_ACTOR)",
      valueName: "name"))
  var actor: String?

  @Option(name: .long, help: ArgumentHelp("Deadline of each call.", valueName: "seconds"))
  var timeout: UInt16 = 20

  @Option(name: .long, help: ArgumentHelp("Name of the stored session. ($LATCHKEY_PROFILE)", valueName: "name"))
  var profile: String?

  @Option(
    name: .long,
    help: ArgumentHelp("File of stored sessions. ($LATCHKEY_SESSION_FILE)", valueName: "file"))
  var sessionFile: String?

  @Flag(name: .long, help: "Print one JSON document.")
  var json = false

  func validate() throws {
    guard (cert == nil) == (key == nil) else { throw ValidationError("Give both --cert and --key, or neither.") }
    guard timeout > 0 else { throw ValidationError("--timeout must be at least one second.") }
  }

  var profileName: String { profile ?? environmentVariable("LATCHKEY_PROFILE") ?? "default" }

  /// The path of the session file. By default below `~/.local/state` (XDG Base Directory Specification).
  var sessionPath: String {
    if let path = sessionFile ?? environmentVariable("LATCHKEY_SESSION_FILE") { return path }
    let state = environmentVariable("XDG_STATE_HOME") ?? (environmentVariable("HOME") ?? ".") + "/.local/state"
    return state + "/latchkey/session.json"
  }

  /// The given options as words, to repeat in proposed commands.
  var repeated: [String] {
    let options = [
      ("--server", server), ("--ca", ca), ("--cert", cert), ("--key", key), ("--api-key-file", apiKeyFile),
      ("--actor", actor), ("--profile", profile), ("--session-file", sessionFile),
    ]
    return options.flatMap { name, value in value.map { [name, $0] } ?? [] }
  }

  // MARK: The connection

  /// The server as `host:port`, with an IPv6 address in brackets.
  var address: String { server ?? environmentVariable("LATCHKEY_SERVER") ?? "localhost:8443" }

  /// The file of trusted authorities.
  ///
  /// The development authority applies to the default server only. Otherwise an attacker's `.latchkey` folder could
  /// authenticate any server.
  private var authorityFile: String {
    if let file = ca ?? environmentVariable("LATCHKEY_CA") { return file }
    guard server == nil, environmentVariable("LATCHKEY_SERVER") == nil else { return "" }
    return (environmentVariable("LATCHKEY_HOME") ?? ".latchkey") + "/authority.pem"
  }

  func caller() throws -> Caller {
    guard let colon = address.lastIndex(of: ":"), let port = UInt16(address[address.index(after: colon)...]), port > 0,
      case let host = address[..<colon].trimmingBrackets, !host.isEmpty
    else { throw Ending.usage("--server", "\(address) is not of the form host:port") }
    var settings = EndpointSettings(host: host, port: port, authorityFile: authorityFile)
    settings.certificateFile = cert ?? environmentVariable("LATCHKEY_CERT") ?? ""
    settings.keyFile = key ?? environmentVariable("LATCHKEY_KEY") ?? ""
    let timeoutMillis = Int64(timeout) * 1_000
    settings.connectMillis = timeoutMillis
    settings.resumesSessions = false
    var metadata = try apiKey().map { [CallOptions.apiKey($0)] } ?? []
    if let actor = try actorName() { metadata.append(("x-latchkey-actor", actor)) }
    do throws(EndpointError) {
      return Caller(try Endpoint(settings), CallOptions(timeoutMillis: timeoutMillis, metadata: metadata))
    } catch {
      guard error.setting != "host" else { throw Ending.unreachable("\(error.why)") }
      let option = ["authority": "--ca", "certificate": "--cert", "key": "--key"][error.setting] ?? error.setting
      throw Ending.usage(option, error.why)
    }
  }

  /// The human for whom the command acts. By default none: the name of a user of this machine proves nothing.
  private func actorName() throws -> String? {
    guard let name = actor ?? environmentVariable("LATCHKEY_ACTOR"), !name.isEmpty else { return nil }
    guard name.utf8.count <= 128, name.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
      throw Ending.usage("--actor", "a name has at most 128 printable ASCII characters")
    }
    return name
  }

  private func apiKey() throws -> String? {
    if let file = apiKeyFile ?? environmentVariable("LATCHKEY_API_KEY_FILE") {
      let option = "--api-key-file"
      return try apiKey(SecretSource(option: option, file: file).read(), of: option)
    }
    return try environmentVariable("LATCHKEY_API_KEY").map { try apiKey($0, of: "$LATCHKEY_API_KEY") }
  }

  /// Validates an API key and removes trailing whitespace. A bearer token contains no spaces (RFC 6750 2.1).
  private func apiKey(_ text: String, of option: String) throws -> String {
    var key = text
    while key.last?.isWhitespace == true { key.removeLast() }
    guard !key.isEmpty, key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw Ending.usage(option, "an API key consists of visible ASCII characters without spaces")
    }
    return key
  }
}

extension Substring {
  /// The text without the brackets around an IPv6 address (RFC 3986 3.2.2).
  fileprivate var trimmingBrackets: String {
    hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : String(self)
  }
}
