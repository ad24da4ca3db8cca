/// Files that systemd passes to the service (`LoadCredential=` and `LoadCredentialEncrypted=` in systemd.exec(5)).
///
/// A setting that names a file accepts `credential:NAME` for the file NAME in `$CREDENTIALS_DIRECTORY`.
enum SystemdCredential {
  static let variable = "CREDENTIALS_DIRECTORY"
  private static let prefix = "credential:"

  /// Returns the path of the credential. nil: the text names no credential, or one that cannot exist.
  static func path(_ text: String, _ environment: [String: String]) -> String? {
    guard text.hasPrefix(prefix), let folder = environment[variable], !folder.isEmpty else { return nil }
    let name = text.dropFirst(prefix.count)
    guard !name.isEmpty, !name.contains("/"), name != ".", name != ".." else { return nil }
    return "\(folder)/\(name)"
  }

  /// Returns the reason why a path is none; nil for a path.
  static func fault(_ path: String) -> String? {
    guard path.hasPrefix(prefix) else { return nil }
    let name = path.dropFirst(prefix.count)
    guard !name.isEmpty, !name.contains("/"), name != ".", name != ".." else {
      return "\(path) must be \(prefix)NAME, where NAME is that of a file"
    }
    return "\(path) needs the variable \(variable), which systemd sets for a unit with LoadCredential=\(name):PATH"
  }
}
