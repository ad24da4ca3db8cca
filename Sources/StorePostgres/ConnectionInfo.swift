import CPostgres
import Reactor

/// What an operator has written about the way to the database, as far as it has to be judged.
package struct ConnectionInfo: Hashable, Sendable {
  /// Names, addresses or folders of sockets.
  package var hosts: [String] = []
  /// nil: nothing was said.
  package var sslMode: String?
  package var hasPassword = false

  /// nil: it is neither keywords and values nor a postgresql:// URI. Why is not said: libpq would quote it, with what
  /// may be a password.
  package init?(_ conninfo: String) {
    guard let options = unsafe PQconninfoParse(conninfo, nil) else { return nil }
    defer { unsafe PQconninfoFree(options) }
    var option = unsafe options
    while let keyword = unsafe option.pointee.keyword {
      if let value = unsafe option.pointee.val { unsafe read(String(cString: keyword), String(cString: value)) }
      unsafe option += 1
    }
  }

  /// What an operator has to write otherwise; nil: it can be used.
  ///
  /// - Parameter passwordOption: where the file of a password is named.
  package static func fault(of conninfo: String, passwordOption: String) -> String? {
    guard let info = ConnectionInfo(conninfo) else {
      return "it is neither keywords and values nor a postgresql:// URI"
    }
    if info.hasPassword { return "it must not hold a password: put that into the file of \(passwordOption)" }
    if info.hosts.isEmpty { return "it must name a host, or the folder of a socket" }
    guard info.isLocal || info.sslMode != nil else {
      return "a database on another machine needs sslmode=verify-full, or another that is said"
    }
    return nil
  }

  private mutating func read(_ keyword: String, _ value: String) {
    switch keyword {
    // An address stands beside the name of its host, or for it.
    case "host", "hostaddr": hosts += value.split(separator: ",").map(String.init)
    case "sslmode": sslMode = value
    case "password": hasPassword = true
    default: break
    }
  }

  /// Nothing that is sent leaves this machine.
  package var isLocal: Bool {
    hosts.allSatisfy {
      $0.hasPrefix("/") || $0.hasPrefix("@") || $0 == "localhost" || $0 == "::1"
        // A name may begin so, too.
        || ($0.hasPrefix("127.") && isAddress($0))
    }
  }

  /// Nobody on the way can read along, whoever the server is.
  package var isEncrypted: Bool { ["require", "verify-ca", "verify-full"].contains(sslMode ?? "") }
}
