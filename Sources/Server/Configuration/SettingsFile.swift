internal import FoundationEssentials
internal import Reactor
internal import Services
internal import TLS

extension Settings {
  private static let fileBytesMax = 1 << 20

  /// Reads the file and the environment variables that begin with LATCHKEY_.
  package static func read(_ path: String) throws(ConfigurationError) -> Settings {
    guard let bytes = readFile(path, bytesMax: fileBytesMax) else {
      throw ConfigurationError(setting: "--config", why: "\(path) cannot be read")
    }
    let folder = path.contains("/") ? String(path[..<path.lastIndex(of: "/")!]) : "."
    let environment = ProcessInfo.processInfo.environment.filter { $0.key.hasPrefix("LATCHKEY_") }
    return try parse(bytes, folder: folder.isEmpty ? "/" : folder, environment: environment)
  }

  /// What `--check-config` looks at beyond the text: that the files are there and usable.
  package func checkFiles() throws(ConfigurationError) {
    do {
      _ = try TLSContext(tls)
    } catch {
      throw ConfigurationError(setting: error.setting, why: error.why)
    }
    _ = try MasterKey.read(masterKeyFile)
  }
}
