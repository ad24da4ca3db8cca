internal import Crypto
internal import Providers
internal import Reactor

/// Why what a setting names is no secret; never the secret.
struct SecretFault: Error {
  /// Follows "it ".
  let why: String
  var isPassing = false
}

extension SecretSource {
  private static let bytesMax = 4_096

  /// The setting that names it.
  func setting(_ name: String) -> String {
    switch self {
    case .file: "\(name)_file"
    case .environment: "\(name)_env"
    }
  }

  func bytes(_ environment: [String: String], bytesMax: Int) throws(SecretFault) -> [UInt8] {
    switch self {
    case .file(let path):
      do throws(SystemError) {
        return try wholeFile(path, bytesMax: bytesMax)
      } catch {
        throw SecretFault(
          why: "names \(path), which cannot be read: \(error.reason)", isPassing: error.isPassing)
      }
    case .environment(let name):
      guard let value = environment[name] else {
        throw SecretFault(why: "names \(name), which is not in the environment")
      }
      guard value.utf8.count <= bytesMax else { throw SecretFault(why: "is larger than \(bytesMax) bytes") }
      return Array(value.utf8)
    }
  }

  /// For the signs of a client secret, see RFC 6749, A.2.
  func line(_ environment: [String: String], bytesMin: Int = 1) throws(SecretFault) -> Secret {
    var bytes = try self.bytes(environment, bytesMax: SecretSource.bytesMax)
    // An editor's line end is not part of it.
    while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
    guard bytes.count >= bytesMin, bytes.allSatisfy({ (0x20...0x7E).contains($0) }) else {
      throw SecretFault(why: "must hold one line of ASCII of \(bytesMin) to \(SecretSource.bytesMax) characters")
    }
    return Secret(copying: bytes)
  }
}

extension SettingsReader {
  /// A secret's place; never the secret.
  mutating func secret(
    _ name: String, _ path: (String) -> String, _ meaning: String
  ) throws(ConfigurationError) -> SecretSource? {
    let file = try text("\(name)_file", "", "file with \(meaning) alone, readable by the server only")
    let variable = try text("\(name)_env", "", "environment variable with it, instead")
    guard file.isEmpty || variable.isEmpty else {
      throw wrong("\(name)_env", "there is a \(name)_file already")
    }
    if !file.isEmpty { return .file(path(file)) }
    return variable.isEmpty ? nil : .environment(variable)
  }
}
