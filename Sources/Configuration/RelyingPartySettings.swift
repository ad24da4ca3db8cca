internal import Callers
internal import Crypto
internal import Encodings
internal import Identity
package import Store
package import WebAuthn

/// The relying parties of passkeys: sites and apps, and the callers that may use them.
struct RelyingPartySettings: Sendable {
  /// Without the certificates of its attestation, which are in a file.
  var party: RelyingParty
  /// Path of the certificates; empty if no attestation is required.
  var rootsFile: String
  var allowedAAGUIDs: Set<[UInt8]>
}

extension Settings {
  static let relyingPartiesPath = "relying_parties"
  private static let rootsBytesMax = 1 << 20

  mutating func readRelyingParties(
    _ reader: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) {
    relyingPartySettings = try reader.groups(Settings.relyingPartiesPath) { party throws(ConfigurationError) in
      try Settings.readRelyingParty(&party, path)
    }
    policy.relyingPartyIDs = Set(relyingPartySettings.map(\.party.id))
    policy.passkeyEnabled = policy.passkeyEnabled && !relyingPartySettings.isEmpty
  }

  /// Reads all settings before any check, so that the list of settings is complete.
  private static func readRelyingParty(
    _ reader: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) -> RelyingPartySettings {
    let id = try reader.text("id", "", "domain of its passkeys, such as example.com; permanent")
    let name = try reader.text("name", "", "name that authenticators show; default: the id")
    let origins = try reader.texts(
      "origins", [],
      "exact origins that may use its passkeys: https, http on localhost, or android:apk-key-hash:…")
    let topOrigins = try reader.texts(
      "top_origins", [], "exact origins of pages that may embed an origin from another site; empty: none")
    let verification = try reader.choice(
      "user_verification", UserVerification.preferred, "whether authenticators check a PIN or a biometric")
    let attestation = try reader.choice(
      "attestation", Attestation.none, "whether authenticators must prove their model")
    let rootsFile = path(
      try reader.text("attestation_roots_file", "", "direct: PEM certificates of the authorities of accepted models"))
    let models = try reader.texts("allowed_aaguids", [], "direct: AAGUIDs of the accepted models")
    let names = try reader.texts(
      "algorithms", PasskeyAlgorithm.allCases.map(\.name), "accepted key algorithms, the preferred one first")
    guard isRelyingPartyID(id) else {
      throw reader.wrong("id", "it must be a domain in lower case, or localhost, without scheme and port")
    }
    guard name.utf8.count <= 64 else { throw reader.wrong("name", "it must have at most 64 bytes") }
    try checkOrigins(origins, topOrigins, of: id, reader)
    let allowed = try models.map { model throws(ConfigurationError) in
      guard let aaguid = aaguid(model) else {
        throw reader.wrong("allowed_aaguids", "\(model) must have 32 hexadecimal digits, with or without hyphens")
      }
      return aaguid
    }
    guard (attestation == .direct) == !rootsFile.isEmpty else {
      throw reader.wrong("attestation_roots_file", "it must be set for attestation direct, and only then")
    }
    guard (attestation == .direct) == !allowed.isEmpty else {
      throw reader.wrong("allowed_aaguids", "it must be set for attestation direct, and only then")
    }
    let algorithms = names.compactMap { name in PasskeyAlgorithm.allCases.first { $0.name == name } }
    guard !names.isEmpty, algorithms.count == names.count, Set(names).count == names.count else {
      throw reader.wrong("algorithms", "it must list ES256, EdDSA and RS256, or some of them")
    }
    let party = RelyingParty(
      id: id, name: name.isEmpty ? id : name, origins: origins, topOrigins: topOrigins,
      userVerification: verification, algorithms: algorithms)
    return RelyingPartySettings(party: party, rootsFile: rootsFile, allowedAAGUIDs: Set(allowed))
  }

  private static func checkOrigins(
    _ origins: [String], _ topOrigins: [String], of id: String, _ reader: SettingsReader
  ) throws(ConfigurationError) {
    guard !origins.isEmpty else { throw reader.wrong("origins", "it must name at least one") }
    for origin in origins where !PasskeyOrigin.isApp(origin) {
      guard let host = PasskeyOrigin.host(of: origin) else {
        throw reader.wrong("origins", "\(origin) \(PasskeyOrigin.rule)")
      }
      guard host == id || host.hasSuffix("." + id) else {
        throw reader.wrong("origins", "\(origin) must be at \(id) or a subdomain of it")
      }
    }
    if let wrong = topOrigins.first(where: { PasskeyOrigin.host(of: $0) == nil }) {
      throw reader.wrong("top_origins", "\(wrong) \(PasskeyOrigin.rule)")
    }
    for (setting, list) in [("origins", origins), ("top_origins", topOrigins)] where Set(list).count < list.count {
      throw reader.wrong(setting, "it lists a value twice")
    }
  }

  /// An id is a host name with a dot, so that it is no public suffix of one label. Browsers know the longer suffixes.
  private static func isRelyingPartyID(_ id: String) -> Bool {
    id == "localhost" || (id.contains(".") && PasskeyOrigin.isHost(id))
  }

  private static func aaguid(_ text: String) -> [UInt8]? {
    let bytes = Hexadecimal.decode(text.filter { $0 != "-" })
    return bytes?.count == 16 ? bytes : nil
  }

  /// Checks that the ids are unique, and that callers name only existing ones.
  func checkRelyingParties(_ reader: SettingsReader) throws(ConfigurationError) {
    let ids = relyingPartySettings.map(\.party.id)
    try unique(ids, Settings.relyingPartiesPath, "id")
    // A skipped element may be the one that is named.
    guard reader.leftOut[Settings.relyingPartiesPath] == nil else { return }
    func check(_ named: [String], _ setting: String) throws(ConfigurationError) {
      if let unknown = named.first(where: { !ids.contains($0) }) {
        throw ConfigurationError(setting: setting, why: "\(unknown) is the id of no relying party")
      }
      guard Set(named).count == named.count else {
        throw ConfigurationError(setting: setting, why: "it lists a value twice")
      }
    }
    for (position, caller) in callers.enumerated() {
      try check(caller.relyingPartyIDs, "callers[\(index(position, in: "callers"))].relying_parties")
    }
    try check(unidentifiedRelyingPartyIDs, "unidentified.relying_parties")
  }

  static func readRelyingPartyIDs(_ reader: inout SettingsReader) throws(ConfigurationError) -> [String] {
    try reader.texts(
      "relying_parties", [], "ids of its relying parties, the default first; empty: the only one, if there is one")
  }

  /// The ids of each caller's relying parties. A caller without the setting may use the only one. With several,
  /// nothing says which passkeys its users should have.
  package var relyingPartyIDs: [CallerName: [String]] {
    let ids = relyingPartySettings.map(\.party.id)
    func allowed(_ named: [String]) -> [String] { named.isEmpty && ids.count == 1 ? ids : named }
    var all = [CallerName(Settings.unidentifiedName): allowed(unidentifiedRelyingPartyIDs)]
    for caller in callers { all[CallerName(caller.name)] = allowed(caller.relyingPartyIDs) }
    return all
  }

  /// Reads the files of certificates, at the start and at a reload.
  package func relyingParties() throws(ConfigurationError) -> [RelyingParty] {
    try relyingPartySettings.enumerated().map { position, settings throws(ConfigurationError) in
      guard !settings.rootsFile.isEmpty else { return settings.party }
      let place = index(position, in: Settings.relyingPartiesPath)
      let setting = "\(Settings.relyingPartiesPath)[\(place)].attestation_roots_file"
      let pem = try readFile(settings.rootsFile, of: setting, bytesMax: Settings.rootsBytesMax)
      guard let count = AttestationCertificates.rootCount(pem), count > 0 else {
        throw ConfigurationError(
          setting: setting, why: "\(settings.rootsFile) contains no PEM certificate, or one that is unreadable")
      }
      return settings.party.requiring(AttestationTrust(allowedAAGUIDs: settings.allowedAAGUIDs, rootsPEM: pem))
    }
  }

  private enum Attestation: String, CaseIterable { case none, direct }
}

extension PasskeyAlgorithm {
  fileprivate var name: String {
    switch self {
    case .es256: "ES256"
    case .edDSA: "EdDSA"
    case .rs256: "RS256"
    }
  }
}

/// Origins of clients, as they state them (WebAuthn 5.8.1).
private enum PasskeyOrigin {
  static let rule = "must be an https origin in lower case such as https://example.com, or http on localhost"

  /// Returns whether an origin is an Android app: the SHA-256 of its signing certificate.
  static func isApp(_ origin: String) -> Bool {
    let scheme = "android:apk-key-hash:"
    return origin.hasPrefix(scheme) && Base64URL.decode(String(origin.dropFirst(scheme.count)))?.count == 32
  }

  /// Returns the host of a web origin. Nil also for a default port, which browsers omit, and a path.
  static func host(of origin: String) -> String? {
    let schemes = ["https": "443", "http": "80"]
    guard let end = origin.firstRange(of: "://"), let standard = schemes[String(origin[..<end.lowerBound])] else {
      return nil
    }
    let parts = origin[end.upperBound...].split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    guard let host = parts.first, isHost(host), parts.count <= 2 else { return nil }
    if parts.count == 2 {
      guard let port = UInt16(parts[1]), port > 0, "\(port)" == parts[1], parts[1] != standard else { return nil }
    }
    return standard == "443" || host == "localhost" || host.hasSuffix(".localhost") ? host : nil
  }

  /// Returns whether a text is a host name in lower case, with A-labels, and no IP address.
  static func isHost(_ text: String) -> Bool {
    let labels = text.split(separator: ".", omittingEmptySubsequences: false)
    guard text.utf8.count <= 253, labels.last?.contains(where: \.isLetter) == true else { return false }
    return labels.allSatisfy { label in
      1...63 ~= label.utf8.count && label.first != "-" && label.last != "-"
        && label.utf8.allSatisfy {
          0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 || $0 == UInt8(ascii: "-")
        }
    }
  }
}
