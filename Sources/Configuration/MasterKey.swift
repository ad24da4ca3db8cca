package import Crypto
internal import Encodings
internal import Reactor

/// The master key, the only secret that an operator must keep: 64 hexadecimal digits in a file that only the server can
/// read.
package enum MasterKey {
  package static func read(_ path: String) throws(ConfigurationError) -> Secret {
    let setting = "secrets.master_key_file"
    let bytes = try readFile(path, of: setting, bytesMax: 4_096)
    guard let key = key(in: bytes) else {
      throw ConfigurationError(setting: setting, why: "\(path) must contain exactly 64 hexadecimal digits")
    }
    return key
  }

  package static func key(in file: [UInt8]) -> Secret? {
    let text = String(decoding: file, as: UTF8.self).filter { !$0.isWhitespace }
    guard let key = Hexadecimal.decode(text), key.count == 32 else { return nil }
    return Secret(copying: key)
  }
}
