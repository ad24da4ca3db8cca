package import Crypto
internal import Providers
internal import Reactor

/// The reason why a secret is unusable; never contains the secret.
package struct SecretFault: Error {
  /// Reason; the text continues "it ".
  let why: String
  var isPassing = false
}

extension SecretSource {
  private static let bytesMax = 4_096

  /// Returns the setting that names the secret.
  package func setting(_ name: String) -> String {
    switch self {
    case .file: "\(name)_file"
    case .environment: "\(name)_env"
    }
  }

  package func bytes(_ environment: [String: String], bytesMax: Int) throws(SecretFault) -> [UInt8] {
    switch self {
    case .file(let path):
      if let why = SystemdCredential.fault(path) { throw SecretFault(why: "is unusable: \(why)") }
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

  /// Reads a secret of one line. RFC 6749, A.2 defines the characters of a client secret.
  package func line(_ environment: [String: String], bytesMin: Int = 1) throws(SecretFault) -> Secret {
    var bytes = try self.bytes(environment, bytesMax: SecretSource.bytesMax)
    // A line end that an editor added is not part of the secret.
    while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
    guard bytes.count >= bytesMin, bytes.allSatisfy({ (0x20...0x7E).contains($0) }) else {
      throw SecretFault(why: "must contain one line of ASCII of \(bytesMin) to \(SecretSource.bytesMax) characters")
    }
    return Secret(copying: bytes)
  }
}

extension SettingsReader {
  /// Reads the location of a secret, not the secret.
  package mutating func secret(
    _ name: String, _ path: (String) -> String, _ meaning: String
  ) throws(ConfigurationError) -> SecretSource? {
    let file = try text("\(name)_file", "", "file that contains only \(meaning); restrict it to the server's user")
    let variable = try text("\(name)_env", "", "environment variable with \(meaning), instead of the file")
    guard file.isEmpty || variable.isEmpty else {
      throw wrong("\(name)_env", "\(name)_file is already set")
    }
    if !file.isEmpty { return .file(path(file)) }
    return variable.isEmpty ? nil : .environment(variable)
  }
}
