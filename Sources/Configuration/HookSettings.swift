internal import Callers
package import Identity
internal import TLS

/// One hook: a service with the operator's own rules.
package struct HookSettings: Hashable, Sendable {
  /// What a call does if the hook fails.
  package enum OnFailure: String, Sendable, CaseIterable {
    case deny
    case allow
  }

  static let nameBytesMax = 32

  package var name = ""
  package var address = ServerAddress(host: "", port: 0, isPlain: false)
  package var authorityFile = ""
  package var certificateFile = ""
  package var keyFile = ""
  package var timeoutMillis: Int64 = 0
  package var concurrentMax = 0
  package var onFailure = OnFailure.deny
  package var events: [HookEvent] = []
  /// Empty: all callers.
  package var callers: [String] = []

  /// A name is a label of metrics and a detail of events.
  static func isName(_ name: String) -> Bool {
    let isPlain = name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
        UInt8(ascii: "_"):
        true
      default: false
      }
    }
    return isPlain && 1...nameBytesMax ~= name.utf8.count
  }
}

extension Settings {
  private static let hooksPath = "hooks"
  private static let usualHookPort: UInt16 = 443

  mutating func readHooks(_ reader: inout SettingsReader, _ path: (String) -> String) throws(ConfigurationError) {
    hooks = try reader.groups(Settings.hooksPath) { hook throws(ConfigurationError) in
      try Settings.readHook(&hook, path)
    }
  }

  /// Checks that the names are unique, and that hooks name only existing callers.
  func checkHooks() throws(ConfigurationError) {
    try unique(hooks.map(\.name), Settings.hooksPath, "name")
    // A skipped element may be the one that is named.
    guard leftOut["callers"] == nil else { return }
    let known = Set(callers.map(\.name) + [Settings.unidentifiedName])
    for (position, hook) in hooks.enumerated() {
      guard let unknown = hook.callers.first(where: { !known.contains($0) }) else { continue }
      throw ConfigurationError(
        setting: "\(Settings.hooksPath)[\(index(position, in: Settings.hooksPath))].callers",
        why: "there is no caller \(unknown)")
    }
  }

  private static func readHook(
    _ reader: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) -> HookSettings {
    var hook = HookSettings()
    hook.name = try reader.text("name", "", "name in metrics and events: 1 to 32 of a-z, 0-9, - and _")
    let url = try reader.text("endpoint", "", "https URL of the hook's host and port (gRPC)")
    hook.authorityFile = path(
      try reader.text("ca_file", "", "PEM CA certificates of the hook; empty: those of the system"))
    hook.certificateFile = path(
      try reader.text("certificate_file", "", "PEM certificate that the server presents to the hook"))
    hook.keyFile = path(try reader.text("key_file", "", "PEM private key of that certificate"))
    hook.timeoutMillis = Int64(
      try reader.integer("timeout_millis", 3_000, 10...10_000, "time limit of one question, in milliseconds"))
    hook.concurrentMax = try reader.integer(
      "concurrent_max", 64, 1...1_000, "maximum number of concurrent questions; more count as failures of the hook")
    hook.onFailure = try reader.choice(
      "on_failure", HookSettings.OnFailure.deny, "what a call does if the hook does not answer, or not validly")
    let events = try reader.texts(
      "events", HookEvent.allCases.map(\.rawValue),
      "occasions on which the hook is asked (before_create | before_sign_in | before_send)")
    hook.callers = try reader.texts(
      "callers", [], "names of the callers for whose calls the hook is asked; empty: all")
    guard HookSettings.isName(hook.name) else {
      throw reader.wrong("name", "it must have 1 to \(HookSettings.nameBytesMax) of a-z, 0-9, - and _")
    }
    switch ServerAddress.parse(url, usualPort: usualHookPort) {
    case .success(let address): hook.address = address
    case .failure(let fault): throw reader.wrong("endpoint", fault.why)
    }
    guard hook.certificateFile.isEmpty == hook.keyFile.isEmpty else {
      let (set, missing) =
        hook.keyFile.isEmpty ? ("certificate_file", "key_file") : ("key_file", "certificate_file")
      throw reader.wrong(set, "it must be set together with \(missing)")
    }
    hook.events = try events.map { name throws(ConfigurationError) in
      guard let event = HookEvent(rawValue: name) else {
        let names = HookEvent.allCases.map(\.rawValue).joined(separator: ", ")
        throw reader.wrong("events", "each must be one of \(names), not \(name)")
      }
      return event
    }
    guard !hook.events.isEmpty else { throw reader.wrong("events", "it must not be empty") }
    return hook
  }

  /// Loads the files of each hook as its connections do. Otherwise the first question would fail.
  func faultsOfHooks() -> [ConfigurationError] {
    hooks.enumerated().compactMap { position, hook in
      guard !hook.address.isPlain else { return nil }
      do throws(TLSError) {
        _ = try ClientTLSContext(
          ClientTLSSettings(
            authorityFile: hook.authorityFile, certificateFile: hook.certificateFile, keyFile: hook.keyFile))
        return nil
      } catch {
        let place = "\(Settings.hooksPath)[\(index(position, in: Settings.hooksPath))]"
        let name =
          switch error.setting {
          case "authority": "ca_file"
          case "certificate", "key": "\(error.setting)_file"
          default: "endpoint"
          }
        return ConfigurationError(setting: "\(place).\(name)", why: error.why)
      }
    }
  }

  /// The files of the hooks, by setting.
  var filesOfHooks: [(setting: String, path: String)] {
    hooks.flatMap { hook in
      [
        ("ca_file", hook.authorityFile), ("certificate_file", hook.certificateFile), ("key_file", hook.keyFile),
      ].filter { !$0.1.isEmpty }.map { ("\(Settings.hooksPath)[\(hook.name)].\($0.0)", $0.1) }
    }
  }
}
