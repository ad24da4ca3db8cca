package import Crypto
internal import Encodings
internal import Reactor

/// The master keys, the only secrets that an operator must keep: 64 hexadecimal digits in each of the files, which only
/// the server can read.
///
/// A file may instead contain a key that is wrapped by a PKCS#11 module: a line with the `pkcs11:` URI of the key that
/// unwraps it, and the wrapped file in base64.
package enum MasterKey {
  static let setting = "secrets.master_key_files"
  /// Enough for a rotation that begins before the previous one has ended, twice.
  package static let filesMax = 4
  private static let bytesMax = 4_096

  /// Reads the keys in order. The first key seals, and all open.
  package static func read(_ paths: [String]) throws(ConfigurationError) -> [Secret] {
    guard !paths.isEmpty else { throw ConfigurationError(setting: setting, why: "it must name at least one file") }
    guard paths.count <= filesMax else {
      throw ConfigurationError(setting: setting, why: "it must name at most \(filesMax) files, not \(paths.count)")
    }
    var keys: [Secret] = []
    var pathsByDigest: [[UInt8]: String] = [:]
    for path in paths {
      let key = try read(path)
      if let other = pathsByDigest.updateValue(path, forKey: hmacSHA256(key: key, [])) {
        throw ConfigurationError(setting: setting, why: "\(other) and \(path) contain the same key")
      }
      keys.append(key)
    }
    return keys
  }

  private static func read(_ path: String) throws(ConfigurationError) -> Secret {
    var bytes = try readFile(path, of: setting, bytesMax: bytesMax)
    if bytes.starts(with: "pkcs11:".utf8) { bytes = try unwrapped(bytes, path) }
    guard let key = key(in: bytes) else {
      throw ConfigurationError(setting: setting, why: "\(path) must contain exactly 64 hexadecimal digits")
    }
    return key
  }

  private static func unwrapped(_ file: [UInt8], _ path: String) throws(ConfigurationError) -> [UInt8] {
    let lines = String(decoding: file, as: UTF8.self).split(whereSeparator: \.isNewline)
    let text = lines.dropFirst().joined().filter { !$0.isWhitespace }
    guard let uri = lines.first, !text.isEmpty, let ciphertext = Base64.decode(Array(text.utf8)) else {
      throw ConfigurationError(setting: setting, why: "\(path) must contain a pkcs11: URI and lines of base64")
    }
    func fault(_ why: String) -> ConfigurationError { ConfigurationError(setting: setting, why: "\(path) \(why)") }
    let wrapped: WrappedKey
    do throws(WrappedKey.Fault) {
      wrapped = try WrappedKey(uri: String(uri), ciphertext: ciphertext)
    } catch {
      throw fault(error.why)
    }
    var pin: [UInt8]
    do throws(ConfigurationError) {
      pin = try readFile(wrapped.pinSource, of: setting, bytesMax: bytesMax)
    } catch {
      throw fault("has a pin-source that is unusable: \(error.why)")
    }
    while let last = pin.last, last == 0x0A || last == 0x0D { pin.removeLast() }
    do throws(WrappedKey.Fault) {
      return try wrapped.unwrapped(pin: pin)
    } catch {
      throw fault(error.why)
    }
  }

  package static func key(in file: [UInt8]) -> Secret? {
    let text = String(decoding: file, as: UTF8.self).filter { !$0.isWhitespace }
    guard let key = Hexadecimal.decode(text), key.count == 32 else { return nil }
    return Secret(copying: key)
  }
}
