package import Tokens

/// A backend whose custom tokens this service accepts in addition to its own.
struct CustomTokenSignerSettings: Equatable, Sendable {
  var issuer: String
  var keysFile: String
  var accountIDPrefixes: [String]
}

extension Settings {
  static let customTokenSignersPath = "custom_token_signers"

  mutating func readCustomTokenSigners(
    _ reader: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) {
    customTokenSigners = try reader.groups(Settings.customTokenSignersPath) { signer throws(ConfigurationError) in
      let issuer = try signer.text("issuer", "", "exact `iss` of its tokens")
      let keysFile = path(try signer.text("keys_file", "", "file with its public keys as a JSON Web Key Set"))
      let prefixes = try signer.texts(
        "account_id_prefixes", [], "prefixes of the IDs of accounts that it may sign in and create")
      guard !issuer.isEmpty else { throw signer.wrong("issuer", "it must be set") }
      guard !keysFile.isEmpty else { throw signer.wrong("keys_file", "it must be set") }
      guard !prefixes.isEmpty, prefixes.allSatisfy({ 1...64 ~= $0.utf8.count && $0.utf8.allSatisfy(isVisible) }) else {
        throw signer.wrong(
          "account_id_prefixes", "it must have at least one prefix, each of 1 to 64 visible ASCII characters")
      }
      return CustomTokenSignerSettings(issuer: issuer, keysFile: keysFile, accountIDPrefixes: prefixes)
    }
    let issuers = [issuer] + customTokenSigners.map(\.issuer)
    guard Set(issuers).count == issuers.count else {
      throw reader.wrong(Settings.customTokenSignersPath, "each `issuer` must be unique and differ from tokens.issuer")
    }
  }

  /// Reads the key files, at the start and at a reload.
  package func signersOfCustomTokens() throws(ConfigurationError) -> [CustomTokenSigner] {
    try customTokenSigners.map { signer throws(ConfigurationError) in
      let setting = "\(Settings.customTokenSignersPath)[].keys_file"
      let bytes = try readFile(signer.keysFile, of: setting, bytesMax: JWKSet.byteCountMax)
      guard let keys = try? JWKSet.parse(bytes), !keys.isEmpty else {
        throw ConfigurationError(
          setting: setting, why: "\(signer.keysFile) is not a JSON Web Key Set with a usable key")
      }
      // The operator can correct this file, but not the key set of a provider.
      if let odd = keys.skipped.first(where: { !$0.reason.isOrdinary }) {
        throw ConfigurationError(
          setting: setting, why: "\(signer.keysFile): key \(odd.index + 1) cannot be used: \(odd.reason.rawValue)")
      }
      return CustomTokenSigner(issuer: signer.issuer, keys: keys, accountIDPrefixes: signer.accountIDPrefixes)
    }
  }
}

private func isVisible(_ byte: UInt8) -> Bool { 0x21...0x7E ~= byte }
