import Reactor
import Tokens
import API
import Protobuf

/// A stored profile.
struct Profile: Equatable {
  /// The server of the profile. Tokens are sent to no other server.
  var server: String
  /// A random binding that identifies this profile to the service. A stolen pending token is useless without it.
  var binding: String
  var signedIn: SignedIn?
  var pending: Pending?
  /// The last flow that was started.
  var flow: Pending?
  /// The last enrolment of a second factor that was started.
  var enrollment: Pending?
  /// The last call that requires a second factor.
  var secondFactor: WaitingFactor?
  /// The verification ID of the last phone code.
  var code: Pending?

  struct SignedIn: Equatable {
    var accountID: String
    var email: String
    var idToken: String
    var idTokenExpiresAtMillis: Int64
    var refreshToken: String
  }

  struct WaitingFactor: Equatable {
    struct Factor: Equatable {
      var id: String
      var kind: FactorKind
    }

    var token: String
    var expiresAtMillis: Int64
    var factors: [Factor]
    /// The ID of the last text message; empty if none was sent.
    var verificationID = ""
  }

  struct Pending: Equatable {
    var token: String
    var expiresAtMillis: Int64

    init(token: String, expiresAtMillis: Int64?) {
      self.token = token
      self.expiresAtMillis = expiresAtMillis ?? 0
    }
  }

  init(server: String) {
    self.server = server
    binding = (0..<16).map { _ in String(UInt8.random(in: 16 ... .max), radix: 16) }.joined()
  }
}

/// The file of all profiles.
final class SessionFile {
  private static let bytesMax = 1 << 20
  private let file: PrivateFile
  private var lock: PrivateFile.Lock?

  init(_ path: String) { file = PrivateFile(path) }

  /// Runs `body` under the file lock, so that concurrent commands do not overwrite each other's changes.
  ///
  /// Calls may be nested. `body` must not wait for user input, because other commands wait for the lock.
  func exclusively<Value>(_ body: () throws -> Value) throws -> Value {
    guard lock == nil else { return try body() }
    // Read the file first. A user who may not read it must not create a lock file in the owner's folder.
    _ = try members()
    do {
      lock = try PrivateFile.Lock(of: file)
    } catch {
      throw Ending.usage("--session-file", "\(error)")
    }
    defer { lock = nil }
    return try body()
  }

  func profile(_ name: String) throws -> Profile? { try members()[name].flatMap(Profile.init) }

  /// Stores the profile. nil deletes it.
  func keep(_ profile: Profile?, as name: String) throws {
    try exclusively {
      var members = try members()
      members[name] = profile.map(\.json)
      let sorted = members.sorted { $0.key < $1.key }.map { JSONMember($0.key, $0.value) }
      var writer = JSONWriter()
      writer.value(.object([JSONMember("profiles", .object(sorted))]))
      do {
        try file.write(writer.bytes + [UInt8(ascii: "\n")])
      } catch {
        throw Ending.usage("--session-file", "\(error)")
      }
    }
  }

  private func members() throws -> [String: JSONValue] {
    do {
      guard let bytes = try file.read(bytesMax: SessionFile.bytesMax) else { return [:] }
      let document = try JSONValue.parse(bytes, byteCountMax: SessionFile.bytesMax)
      return Dictionary((document["profiles"]?.members ?? []).map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    } catch is JSONError {
      throw Ending.usage("--session-file", "\(file.path) is not a session file")
    } catch {
      throw Ending.usage("--session-file", "\(error)")
    }
  }
}

extension Profile {
  fileprivate init?(_ json: JSONValue) {
    guard let server = json["server"]?.string, let binding = json["binding"]?.string else { return nil }
    self.server = server
    self.binding = binding
    signedIn = json["session"].flatMap(SignedIn.init)
    pending = json["pending"].flatMap(Pending.init)
    flow = json["flow"].flatMap(Pending.init)
    enrollment = json["enrollment"].flatMap(Pending.init)
    secondFactor = json["second_factor"].flatMap(WaitingFactor.init)
    code = json["code"].flatMap(Pending.init)
  }

  fileprivate var json: JSONValue {
    var members = [JSONMember("server", .string(server)), JSONMember("binding", .string(binding))]
    if let signedIn { members.append(JSONMember("session", signedIn.json)) }
    if let pending { members.append(JSONMember("pending", pending.json)) }
    if let flow { members.append(JSONMember("flow", flow.json)) }
    if let enrollment { members.append(JSONMember("enrollment", enrollment.json)) }
    if let secondFactor { members.append(JSONMember("second_factor", secondFactor.json)) }
    if let code { members.append(JSONMember("code", code.json)) }
    return .object(members)
  }
}

extension Profile.SignedIn {
  /// Copies a session. Returns nil if the service returned none.
  init?(_ session: Session?) {
    guard let session, let account = session.account else { return nil }
    accountID = account.accountID
    email = account.email
    idToken = session.idToken
    idTokenExpiresAtMillis = session.idTokenExpiresAtMillis ?? 0
    refreshToken = session.refreshToken
  }

  fileprivate init?(_ json: JSONValue) {
    guard let accountID = json["account_id"]?.string, let idToken = json["id_token"]?.string,
      let refreshToken = json["refresh_token"]?.string
    else { return nil }
    self.accountID = accountID
    email = json["email"]?.string ?? ""
    self.idToken = idToken
    idTokenExpiresAtMillis = json["id_token_expires_at_millis"]?.int ?? 0
    self.refreshToken = refreshToken
  }

  fileprivate var json: JSONValue {
    .object([
      JSONMember("account_id", .string(accountID)), JSONMember("email", .string(email)),
      JSONMember("id_token", .string(idToken)), JSONMember("id_token_expires_at_millis", .int(idTokenExpiresAtMillis)),
      JSONMember("refresh_token", .string(refreshToken)),
    ])
  }
}

extension Profile.Pending {
  fileprivate init?(_ json: JSONValue) {
    guard let token = json["token"]?.string else { return nil }
    self.token = token
    expiresAtMillis = json["expires_at_millis"]?.int ?? 0
  }

  fileprivate var json: JSONValue {
    .object([JSONMember("token", .string(token)), JSONMember("expires_at_millis", .int(expiresAtMillis))])
  }
}

extension Profile.WaitingFactor {
  fileprivate init?(_ json: JSONValue) {
    guard let token = json["token"]?.string else { return nil }
    self.token = token
    expiresAtMillis = json["expires_at_millis"]?.int ?? 0
    factors = (json["factors"]?.array ?? []).compactMap { factor in
      guard let id = factor["id"]?.string, let name = factor["kind"]?.string,
        let kind = FactorKind(name: name.uppercased())
      else { return nil }
      return Factor(id: id, kind: kind)
    }
    verificationID = json["verification_id"]?.string ?? ""
  }

  fileprivate var json: JSONValue {
    .object([
      JSONMember("token", .string(token)), JSONMember("expires_at_millis", .int(expiresAtMillis)),
      JSONMember("factors", .array(factors.map { factor in
        .object([JSONMember("id", .string(factor.id)), JSONMember("kind", .lowercaseWord(factor.kind))])
      })),
      JSONMember("verification_id", .string(verificationID)),
    ])
  }
}
