internal import Tokens

/// A backend whose custom tokens count beside our own.
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
      let issuer = try signer.text("issuer", "", "the exact `iss` of its tokens")
      let keysFile = path(try signer.text("keys_file", "", "its public keys, as a JSON Web Key Set"))
      let prefixes = try signer.texts(
        "account_id_prefixes", [], "how the ids of the accounts begin that it may sign in, and so make")
      guard !issuer.isEmpty else { throw signer.wrong("issuer", "it must be set") }
      guard !keysFile.isEmpty else { throw signer.wrong("keys_file", "it must be set") }
      guard !prefixes.isEmpty, prefixes.allSatisfy({ 1...64 ~= $0.utf8.count && $0.utf8.allSatisfy(isVisible) }) else {
        throw signer.wrong("account_id_prefixes", "at least one, each of 1 to 64 visible ASCII characters")
      }
      return CustomTokenSignerSettings(issuer: issuer, keysFile: keysFile, accountIDPrefixes: prefixes)
    }
    let issuers = [issuer] + customTokenSigners.map(\.issuer)
    guard Set(issuers).count == issuers.count else {
      throw reader.wrong(Settings.customTokenSignersPath, "each `issuer` must be another, and none tokens.issuer")
    }
  }

  /// Read at the start; a file that has changed counts after a restart.
  func signersOfCustomTokens() throws(ConfigurationError) -> [CustomTokenSigner] {
    try customTokenSigners.map { signer throws(ConfigurationError) in
      let setting = "\(Settings.customTokenSignersPath)[].keys_file"
      let bytes = try readFile(signer.keysFile, of: setting, bytesMax: JWKSet.byteCountMax)
      guard let keys = try? JWKSet.parse(bytes), !keys.isEmpty else {
        throw ConfigurationError(
          setting: setting, why: "\(signer.keysFile) is no JSON Web Key Set with a key that can be used")
      }
      // The operator owns this file and can correct it; providers cannot be made to correct theirs.
      if let odd = keys.skipped.first(where: { !$0.reason.isOrdinary }) {
        throw ConfigurationError(
          setting: setting, why: "\(signer.keysFile): key \(odd.index + 1) cannot be used: \(odd.reason.rawValue)")
      }
      return CustomTokenSigner(issuer: signer.issuer, keys: keys, accountIDPrefixes: signer.accountIDPrefixes)
    }
  }
}

private func isVisible(_ byte: UInt8) -> Bool { 0x21...0x7E ~= byte }
