internal import FoundationEssentials
internal import Providers
internal import Reactor
internal import Services
internal import TLS

extension Settings {
  private static let fileBytesMax = 1 << 20

  package static func file(_ path: String) throws(ConfigurationError) -> [UInt8] {
    try readFile(path, of: "--config", bytesMax: fileBytesMax)
  }

  /// Environment variables that start with LATCHKEY_, and the folder of systemd's credentials.
  package static func environment() -> [String: String] {
    ProcessInfo.processInfo.environment.filter {
      $0.key.hasPrefix("LATCHKEY_") || $0.key == SystemdCredential.variable
    }
  }

  package static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Warnings about file permissions: secret files that all users may read or their group may write, and files that all
  /// users may write. A secret file that all users may write is an error.
  package func warningsOfFiles() -> [String] {
    secretFiles().filter { anybodyMayRead($0.path) }.map { "\($0.setting): \($0.path) can be read by all users" }
      + secretFiles().filter { groupMayWrite($0.path) }.map { "\($0.setting): \($0.path) can be written by its group" }
      + places().filter { anybodyMayWrite($0.path) }.map { "\($0.setting): \($0.path) can be written by all users" }
  }

  /// Files and folders that only the server's user should write: the configuration names the callers, and the others
  /// contain the accounts and the codes.
  private func places() -> [(setting: String, path: String)] {
    var places = [(setting: String, path: String)]()
    func add(_ setting: String, _ path: String, withFolder: Bool = false) {
      guard !path.isEmpty else { return }
      places.append((setting, path))
      if withFolder { places.append((setting, Settings.folder(of: path))) }
    }
    add("--config", configurationFile, withFolder: true)
    add("store.path", storePath, withFolder: true)
    add("store.backup_folder", backupFolder)
    if delivery.uses(.outbox) { add("delivery.outbox_folder", delivery.outboxFolder) }
    return places
  }

  /// Files of the secrets that the configuration uses.
  private func secretFiles() -> [(setting: String, path: String)] {
    var files = masterKeyFiles.map { (setting: MasterKey.setting, path: $0) }
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
    for (position, hook) in hooks.enumerated() where !hook.keyFile.isEmpty {
      add("hooks[\(index(position, in: "hooks"))].key_file", .file(hook.keyFile))
    }
    return files
  }

  /// Reads again what `faultsOfFiles` accepted. An error now may be temporary, such as a lack of file descriptors.
  package static func again<Part>(_ read: () throws(ConfigurationError) -> Part) throws(ConfigurationError) -> Part {
    do throws(ConfigurationError) {
      return try read()
    } catch {
      throw ConfigurationError(setting: error.setting, why: error.why, isPassing: true)
    }
  }

  /// Returns the errors of files, one per setting: `--check-config` also checks that the files exist and are usable.
  func faultsOfFiles(for occasion: Occasion = .start) -> [ConfigurationError] {
    let ofStart: Set = [MasterKey.setting, "tls.key_file", "store.postgres.password_file"]
    let secrets = secretFiles().filter { occasion == .start || !ofStart.contains($0.setting) }
    var faults = secrets.filter { anybodyMayWrite($0.path) }.map {
      ConfigurationError(setting: $0.setting, why: "\($0.path) can be written by all users")
    }
    func check(_ body: () throws(ConfigurationError) -> Void) {
      do throws(ConfigurationError) { try body() } catch { faults.append(error) }
    }
    if occasion == .start {
      check(checkCertificate)
      check { () throws(ConfigurationError) in _ = try MasterKey.read(masterKeyFiles) }
    }
    faults += faultsOfProviders() + faultsOfHooks()
    check { () throws(ConfigurationError) in _ = try signersOfCustomTokens() }
    check { () throws(ConfigurationError) in _ = try relyingParties() }
    check { () throws(ConfigurationError) in _ = try templates() }
    check { () throws(ConfigurationError) in _ = try policyWithFiles() }
    if !passwordBlockListFile.isEmpty {
      check { () throws(ConfigurationError) in try PasswordBlockList.check(passwordBlockListFile) }
    }
    check { () throws(ConfigurationError) in _ = try deliverySecrets() }
    if occasion == .start {
      check { () throws(ConfigurationError) in try checkAuthorities("delivery.ca_file", delivery.authorityFile) }
      check(postgres.checkFiles)
      check { () throws(ConfigurationError) in try checkPlace("store.path", storePath) }
      check { () throws(ConfigurationError) in try checkPlace("store.backup_folder", backupFolder) }
      check { () throws(ConfigurationError) in try checkAuthorities("fetch.ca_file", fetchAuthorityFile) }
    }
    var named: Set<String> = []
    return faults.filter { named.insert($0.setting).inserted }
  }

  private func checkCertificate() throws(ConfigurationError) {
    do {
      _ = try CurrentContext(tls, wallMillis: wallMillis(), monotonicMillis: monotonicMillis())
    } catch {
      throw ConfigurationError(setting: error.setting, why: error.why, isPassing: error.isPassing)
    }
  }

  /// Checks that a file or folder can be created or written. Ignores an empty path.
  private func checkPlace(_ setting: String, _ path: String) throws(ConfigurationError) {
    guard !path.isEmpty, let fault = writeFault(path, in: Settings.folder(of: path)) else { return }
    throw ConfigurationError(setting: setting, why: "\(path) can be neither created nor written: \(fault.reason)")
  }

  /// Loads the CA certificates as libcurl does for each connection.
  private func checkAuthorities(_ setting: String, _ path: String) throws(ConfigurationError) {
    guard !path.isEmpty else { return }
    _ = try readFile(path, of: setting, bytesMax: 4 << 20)
    do {
      _ = try ClientTLSContext(ClientTLSSettings(authorityFile: path))
    } catch {
      throw ConfigurationError(
        setting: setting, why: "\(path) contains no usable PEM certificate", isPassing: error.isPassing)
    }
  }
}

/// Reads a file that a setting names.
func readFile(_ path: String, of setting: String, bytesMax: Int) throws(ConfigurationError) -> [UInt8] {
  if let why = SystemdCredential.fault(path) { throw ConfigurationError(setting: setting, why: why) }
  do throws(SystemError) {
    return try wholeFile(path, bytesMax: bytesMax)
  } catch {
    throw ConfigurationError(
      setting: setting, why: "\(path) cannot be read: \(error.reason)", isPassing: error.isPassing)
  }
}
