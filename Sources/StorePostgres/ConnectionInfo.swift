import CPostgres
import Reactor

/// The parts of the operator's connection string that must be checked.
package struct ConnectionInfo: Hashable, Sendable {
  /// Host names, IP addresses or socket directories.
  package var hosts: [String] = []
  /// nil: not set.
  package var sslMode: String?
  package var hasPassword = false

  /// Parses a connection string. nil: it is neither keywords and values nor a postgresql:// URI. libpq's reason is
  /// omitted, because it would quote the string, which may contain a password.
  package init?(_ conninfo: String) {
    guard let options = unsafe PQconninfoParse(conninfo, nil) else { return nil }
    defer { unsafe PQconninfoFree(options) }
    var option = unsafe options
    while let keyword = unsafe option.pointee.keyword {
      if let value = unsafe option.pointee.val { unsafe read(String(cString: keyword), String(cString: value)) }
      unsafe option += 1
    }
  }

  /// Returns what the operator must correct. nil: the string is valid.
  ///
  /// - Parameter passwordOption: the option that names the password file.
  package static func fault(of conninfo: String, passwordOption: String) -> String? {
    guard let info = ConnectionInfo(conninfo) else {
      return "it is neither keywords and values nor a postgresql:// URI"
    }
    if info.hasPassword { return "it must not contain a password: put it into the file that \(passwordOption) names" }
    if info.hosts.isEmpty { return "it must name a host or a socket directory" }
    guard info.isLocal || info.sslMode != nil else {
      return "a remote database requires an explicit sslmode, such as sslmode=verify-full"
    }
    return nil
  }

  private mutating func read(_ keyword: String, _ value: String) {
    switch keyword {
    // `hostaddr` may accompany the host name or replace it.
    case "host", "hostaddr": hosts += value.split(separator: ",").map(String.init)
    case "sslmode": sslMode = value
    case "password": hasPassword = true
    default: break
    }
  }

  /// Whether no data leaves this machine.
  package var isLocal: Bool {
    hosts.allSatisfy {
      $0.hasPrefix("/") || $0.hasPrefix("@") || $0 == "localhost" || $0 == "::1"
        // A host name may begin like this too.
        || ($0.hasPrefix("127.") && isAddress($0))
    }
  }

  /// Whether the connection is protected from eavesdroppers, even if the server is not authenticated.
  package var isEncrypted: Bool { ["require", "verify-ca", "verify-full"].contains(sslMode ?? "") }
}
