internal import FoundationEssentials
internal import Providers
internal import Reactor
internal import Services
internal import TLS

extension Settings {
  private static let fileBytesMax = 1 << 20

  /// Reads the file and the environment variables that begin with LATCHKEY_.
  package static func read(_ path: String) throws(ConfigurationError) -> Settings {
    let bytes = try readFile(path, of: "--config", bytesMax: fileBytesMax)
    let environment = ProcessInfo.processInfo.environment.filter { $0.key.hasPrefix("LATCHKEY_") }
    return try parse(bytes, folder: folder(of: path), environment: environment)
  }

  private static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Files of secrets that everybody on the machine may read, or their group write. Those that everybody may write are
  /// refused.
  package func warningsOfFiles() -> [String] {
    secretFiles().filter { anybodyMayRead($0.path) }.map { "\($0.setting): \($0.path) can be read by anybody" }
      + secretFiles().filter { groupMayWrite($0.path) }.map { "\($0.setting): \($0.path) can be written by its group" }
  }

  /// Of those that are used.
  private func secretFiles() -> [(setting: String, path: String)] {
    var files = [(setting: "secrets.master_key_file", path: masterKeyFile)]
    func add(_ setting: String, _ source: SecretSource?) {
      if case .file(let path)? = source { files.append((setting: setting, path: path)) }
    }
    add("tls.key_file", .file(tls.keyFile))
    if postgres.isUsed, !postgres.passwordFile.isEmpty {
      add("store.postgres.password_file", .file(postgres.passwordFile))
    }
    if delivery.mail == .smtp { add("delivery.smtp.password_file", delivery.relayPassword) }
    if delivery.uses(.webhook) {
      for (name, source) in zip(["secret", "second_secret"], delivery.webhookSecrets) {
        add("delivery.webhook.\(name)_file", source)
      }
    }
    for (index, provider) in providers.enumerated() {
      add("providers[\(index)].client_secret_file", provider.client.secretSource)
      add("providers[\(index)].private_key_file", provider.client.privateKeySource)
    }
    return files
  }

  /// Reads anew what `checkFiles` has just found right: what is in the way now may pass, such as a lack of descriptors.
  static func again<Part>(_ read: () throws(ConfigurationError) -> Part) throws(ConfigurationError) -> Part {
    do throws(ConfigurationError) {
      return try read()
    } catch {
      throw ConfigurationError(setting: error.setting, why: error.why, isPassing: true)
    }
  }

  /// What `--check-config` looks at beyond the text: that the files are there and usable.
  package func checkFiles() throws(ConfigurationError) {
    if let open = secretFiles().first(where: { anybodyMayWrite($0.path) }) {
      throw ConfigurationError(setting: open.setting, why: "\(open.path) can be written by anybody")
    }
    do {
      _ = try CurrentContext(tls, wallMillis: wallMillis(), monotonicMillis: monotonicMillis())
    } catch {
      throw ConfigurationError(setting: error.setting, why: error.why, isPassing: error.isPassing)
    }
    _ = try MasterKey.read(masterKeyFile)
    _ = try registry(fetching: NoFetching())
    _ = try signersOfCustomTokens()
    _ = try templates()
    _ = try deliverySecrets()
    try checkAuthorities("delivery.ca_file", delivery.authorityFile)
    try postgres.checkFiles()
    try checkPlace("store.path", storePath)
    try checkPlace("store.backup_folder", backupFolder)
    try checkAuthorities("fetch.ca_file", fetchAuthorityFile)
  }

  /// Of what is written; empty: nothing is.
  private func checkPlace(_ setting: String, _ path: String) throws(ConfigurationError) {
    guard !path.isEmpty, let fault = writeFault(path, in: Settings.folder(of: path)) else { return }
    throw ConfigurationError(setting: setting, why: "\(path) can be neither made nor written: \(fault.reason)")
  }

  /// Loads them as libcurl will for each connection.
  private func checkAuthorities(_ setting: String, _ path: String) throws(ConfigurationError) {
    guard !path.isEmpty else { return }
    _ = try readFile(path, of: setting, bytesMax: 4 << 20)
    do {
      _ = try ClientTLSContext(ClientTLSSettings(authorityFile: path))
    } catch {
      throw ConfigurationError(
        setting: setting, why: "\(path) holds no PEM certificate that can be used", isPassing: error.isPassing)
    }
  }
}

/// A file that a setting names.
func readFile(_ path: String, of setting: String, bytesMax: Int) throws(ConfigurationError) -> [UInt8] {
  do throws(SystemError) {
    return try wholeFile(path, bytesMax: bytesMax)
  } catch {
    throw ConfigurationError(
      setting: setting, why: "\(path) cannot be read: \(error.reason)", isPassing: error.isPassing)
  }
}
