internal import API
internal import FoundationEssentials
internal import Reactor

/// A file that cannot be used.
struct FileError: Error, Equatable, CustomStringConvertible {
  var description: String
}

/// The file of accounts with passwords from earlier runs, one JSON object in each line.
struct AccountsFile {
  private struct Line: Codable {
    var email: String
    var password: String
    var accountID: String

    enum CodingKeys: String, CodingKey {
      case email, password
      case accountID = "account_id"
    }
  }

  static func parse(_ bytes: [UInt8], path: String) throws(FileError) -> [LoadUser] {
    try lines(bytes, path: path, of: Line.self).map { line in
      let user = LoadUser(login: PasswordCredential(email: line.email, password: line.password))
      user.accountID = line.accountID
      return user
    }
  }

  /// Formats all users with a known account.
  static func text(_ users: [LoadUser]) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return users.flatMap { user -> [UInt8] in
      guard let accountID = user.accountID else { return [] }
      let line = Line(email: user.login.email, password: user.login.password, accountID: accountID)
      guard let data = try? encoder.encode(line) else { preconditionFailure("strings always encode as JSON") }
      return Array(data) + [UInt8(ascii: "\n")]
    }
  }
}

/// The file of providers' ID tokens in JSON lines, made by `deploy/load/tokens.py`.
struct TokensFile {
  struct Token: Decodable, Equatable {
    enum Use: String, Decodable {
      /// The identity has an account of its own, or gets one.
      case signIn = "sign-in"
      /// The identity has no email address. The workload links and unlinks it.
      case link
      /// The identity has the unverified email address of an account with a password.
      case conflict
    }

    var use: Use
    var providerID: String
    var email: String
    var idToken: String

    enum CodingKeys: String, CodingKey {
      case use, email
      case providerID = "provider_id"
      case idToken = "id_token"
    }

    var token: ProviderTokenCredential { ProviderTokenCredential(providerID: providerID, idToken: idToken) }
  }

  /// The server's limit for tokens.
  static let tokenBytesMax = 16_384

  var tokens: [Token] = []

  static func parse(_ bytes: [UInt8], path: String) throws(FileError) -> TokensFile {
    let tokens = try lines(bytes, path: path, of: Token.self)
    for (index, token) in tokens.enumerated() where token.idToken.utf8.count > tokenBytesMax {
      throw FileError(description: "\(path), line \(index + 1): id_token is longer than \(tokenBytesMax) bytes")
    }
    return TokensFile(tokens: tokens)
  }

  func of(_ use: Token.Use) -> [Token] { tokens.filter { $0.use == use } }
}

/// Parses JSON lines. Skips empty lines.
private func lines<Line: Decodable>(
  _ bytes: [UInt8], path: String, of: Line.Type
) throws(FileError) -> [Line] {
  var values: [Line] = []
  for (index, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
  where !line.isEmpty {
    do {
      values.append(try JSONDecoder().decode(Line.self, from: Data(line)))
    } catch {
      throw FileError(description: "\(path), line \(index + 1): \(reason(error))")
    }
  }
  return values
}

private func reason(_ error: any Error) -> String {
  switch error as? DecodingError {
  case .keyNotFound(let key, _): "\(key.stringValue) is missing"
  case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
    (context.codingPath.last.map { $0.stringValue + ": " } ?? "") + context.debugDescription
  default: "\(error)"
  }
}

/// Writes a file.
///
/// - Parameter isSecret: allows only the owner to read the file.
func writeFile(_ path: String, _ bytes: [UInt8], isSecret: Bool = false) throws(FileError) {
  let permissions = isSecret ? 0o600 : 0o644
  let isWritten = FileManager.default.createFile(
    atPath: path, contents: Data(bytes), attributes: [.posixPermissions: permissions])
  guard isWritten else { throw FileError(description: "\(path) cannot be written") }
}

func readWhole(_ path: String, bytesMax: Int) throws(FileError) -> [UInt8] {
  do throws(SystemError) {
    return try wholeFile(path, bytesMax: bytesMax)
  } catch {
    throw FileError(description: "\(path) cannot be read: \(error.reason)")
  }
}

func fileExists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }
