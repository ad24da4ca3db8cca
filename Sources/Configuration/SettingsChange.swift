internal import Crypto
internal import Delivery
internal import Providers
internal import Reactor
package import Store
internal import WebAuthn

/// The effect of a changed configuration on a running server.
package struct SettingsChange: Sendable {
  /// The settings to use from now on: the new values of what a reload takes over, and the present values of the rest.
  package var settings: Settings
  /// The files of `settings` (`Settings.contents`).
  package var contents: [String: Digest]
  /// Names of the settings, or of whole list elements, that take effect now.
  package var changed: [String]
  /// Names of the changed settings that take effect at the next start.
  package var needsRestart: [String]

  /// Whether no setting of a list element differs, including the contents of its files.
  package func keeps(_ element: String) -> Bool {
    !changed.contains { $0 == element || $0.hasPrefix(element + ".") }
  }
}

/// A configuration that a running server does not take over.
package struct RefusedSettings: Error {
  package let faults: [ConfigurationError]
}

extension Settings {
  /// Settings and groups that a reload takes over. All others need a restart.
  private static let reloaded = [
    "callers", "trusted_proxies", "hooks", "providers", "custom_token_signers", relyingPartiesPath, "policy",
    "throttles", "unidentified", "log.level", "listen.allow_unidentified", "passwords.bytes_min",
    "passwords.block_list_file", "passwords.block_list_at_sign_in", "passwords.imported_bcrypt_cost_max",
    "delivery.template_folder",
    "delivery.default_language",
  ]

  /// Reads the configuration file again and compares it with these settings.
  /// - Parameter contents: the files of these settings when they were read.
  package func change(from contents: [String: Digest]) throws(RefusedSettings) -> SettingsChange {
    let examined = Settings.examine(configurationFile, for: .reload)
    guard examined.faults.isEmpty, let new = examined.settings else { throw RefusedSettings(faults: examined.faults) }
    do throws(ConfigurationError) {
      var settings = try Settings.read(
        tree.taking(Settings.reloaded, from: new.tree), folder: Settings.folder(of: configurationFile),
        Settings.environment().filter { !Variables.isOfKubernetes($0.key, $0.value) })
      settings.configurationFile = configurationFile
      let read = settings.contents()
      return SettingsChange(
        settings: settings, contents: read,
        changed: Settings.differences(effective, settings.effective)
          + read.keys.filter {
            // Another path is a changed setting already.
            read[$0] != contents[$0] && settings.effective[$0] == effective[$0]
          }.sorted(),
        needsRestart: Settings.differences(settings.effective, new.effective))
    } catch {
      let why = "\(error.why) (the file is valid, but needs a restart: other changes take effect at the next start)"
      throw RefusedSettings(faults: [ConfigurationError(setting: error.setting, why: why)])
    }
  }

  /// Returns the names of the settings whose values differ, sorted. An added or removed list element has one name.
  static func differences(_ old: [String: String], _ new: [String: String]) -> [String] {
    let (oldElements, newElements) = (elements(of: old.keys), elements(of: new.keys))
    var names: Set<String> = []
    for name in Set(old.keys).union(new.keys) where old[name] != new[name] {
      let whole = prefixes(of: name).first { oldElements.contains($0) != newElements.contains($0) }
      names.insert(whole ?? name)
    }
    return names.sorted()
  }

  private static func elements(of names: some Sequence<String>) -> Set<String> { Set(names.flatMap(prefixes)) }

  /// Returns the list elements that contain a setting, the outermost first: `callers[web]` for `callers[web].merge`.
  private static func prefixes(of name: String) -> [String] {
    name.indices.filter { name[$0] == "]" }.map { String(name[...$0]) }
  }

  /// Returns the digests of the files with secrets, keys and templates that a reload reads, by setting.
  package func contents() -> [String: Digest] {
    var contents: [String: Digest] = [:]
    func add(_ setting: String, _ source: SecretSource?) {
      guard case .file(let path)? = source else { return }
      contents[setting] = Settings.digest(path)
    }
    for provider in providers {
      add("providers[\(provider.id)].client_secret_file", provider.client.secretSource)
      add("providers[\(provider.id)].private_key_file", provider.client.privateKeySource)
    }
    for (setting, path) in filesOfHooks { add(setting, .file(path)) }
    for signer in customTokenSigners {
      add("\(Settings.customTokenSignersPath)[\(signer.issuer)].keys_file", .file(signer.keysFile))
    }
    for party in relyingPartySettings where !party.rootsFile.isEmpty {
      add("\(Settings.relyingPartiesPath)[\(party.party.id)].attestation_roots_file", .file(party.rootsFile))
    }
    if delivery.mail == .smtp { add("delivery.smtp.password_file", delivery.relayPassword) }
    if delivery.uses(.webhook) {
      for (name, source) in zip(["secret_file", "second_secret_file"], delivery.webhookSecrets) {
        add("delivery.webhook.\(name)", source)
      }
    }
    if !delivery.templateFolder.isEmpty {
      contents["delivery.template_folder"] = TemplateSet.files(in: delivery.templateFolder)
        .map { Digest(sha256($0)) }
    }
    for (setting, path) in [
      ("passwords.block_list_file", passwordBlockListFile),
      ("policy.blocked_email_domains_file", blockedEmailDomainsFile),
    ] where !path.isEmpty {
      // The file may have gigabytes, so its state stands for its content.
      let state = (try? RandomAccessFile(path))?.state
      contents[setting] = state.map { Digest(sha256(Array("\($0)".utf8))) }
    }
    return contents
  }

  /// Returns a digest of the configuration file and of `contents`. It changes with each of them.
  package func fingerprint() -> Digest {
    var text = Settings.digest(configurationFile).map { "\($0.bytes)" } ?? "unreadable"
    for (setting, digest) in contents().sorted(by: { $0.key < $1.key }) { text += "\n\(setting) \(digest.bytes)" }
    return Digest(sha256(Array(text.utf8)))
  }

  private static func digest(_ path: String) -> Digest? {
    do throws(SystemError) {
      return Digest(sha256(try wholeFile(path, bytesMax: 1 << 20)))
    } catch {
      return nil
    }
  }
}

extension ConfigNode {
  /// Returns this tree with the values of another tree at some paths. A value that the other tree lacks is removed.
  func taking(_ settings: [String], from other: ConfigNode) -> ConfigNode {
    var tree = self
    for path in settings.map(ConfigPath.init) { tree.set(path.steps, other.value(at: path.steps)) }
    return tree
  }

  private func value(at steps: some Collection<ConfigPath.Step>) -> ConfigNode? {
    guard let step = steps.first else { return self }
    guard case .name(let name) = step, case .object(let members) = self else { return nil }
    return members[name]?.value(at: steps.dropFirst())
  }
}
