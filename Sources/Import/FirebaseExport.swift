internal import Encodings
internal import Tokens

/// A file that is none, and where.
package struct ExportFileError: Error, Hashable, Sendable, CustomStringConvertible {
  package var description: String
}

/// Cuts the text of Firebase's export, `{"users": [{…}, …]}`, into its users as it is read: a file of millions is
/// never held as a whole.
package struct FirebaseExport {
  /// Of one user's text.
  package static let userBytesMax = 65_536

  private enum Stage { case outside, inside, over }

  private var stage = Stage.outside
  /// How many brackets are open.
  private var depth = 0
  private var isInString = false
  private var isEscaped = false
  private var user: [UInt8] = []
  /// The last text at the top level, to know the member `users` by.
  private var name: [UInt8] = []

  package init() {}

  /// Hands out each user that is whole now.
  package mutating func append(_ bytes: [UInt8], _ each: ([UInt8]) throws -> Void) throws {
    for byte in bytes {
      if isInString {
        try inString(byte)
      } else {
        if let whole = try outsideString(byte) { try each(whole) }
      }
    }
  }

  /// The text has ended.
  package func finish() throws(ExportFileError) {
    guard stage == .over, depth == 0 else {
      throw ExportFileError(description: "it ends before its list of users does, or has none")
    }
  }

  private mutating func inString(_ byte: UInt8) throws(ExportFileError) {
    if stage == .inside {
      try keep(byte)
    } else if depth == 1, name.count < 16 {
      name.append(byte)
    }
    if isEscaped {
      isEscaped = false
    } else if byte == UInt8(ascii: "\\") {
      isEscaped = true
    } else if byte == UInt8(ascii: "\"") {
      isInString = false
    }
  }

  /// The user that this byte completes.
  private mutating func outsideString(_ byte: UInt8) throws(ExportFileError) -> [UInt8]? {
    if stage == .inside, depth > 2 || byte == UInt8(ascii: "{") { try keep(byte) }
    switch byte {
    case UInt8(ascii: "\""):
      isInString = true
      name = []
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      if depth == 0, byte != UInt8(ascii: "{") { throw ExportFileError(description: "it does not begin with {") }
      if depth == 1, byte == UInt8(ascii: "["), stage == .outside, name == Array("users\"".utf8) { stage = .inside }
      depth += 1
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      depth -= 1
      guard depth >= 0 else { throw ExportFileError(description: "a bracket is closed that was not opened") }
      guard stage == .inside else { break }
      if depth == 1 { stage = .over }
      guard depth == 2, byte == UInt8(ascii: "}") else { break }
      defer { user = [] }
      return user
    default: break
    }
    return nil
  }

  private mutating func keep(_ byte: UInt8) throws(ExportFileError) {
    guard user.count < FirebaseExport.userBytesMax else {
      throw ExportFileError(description: "a user takes more than \(FirebaseExport.userBytesMax) bytes")
    }
    user.append(byte)
  }
}

/// One user as Firebase exports it; texts as they stand there.
package struct FirebaseUser: Hashable, Sendable {
  package struct Provider: Hashable, Sendable {
    package var providerID: String
    package var subject: String
    package var email: String
    package var displayName: String
    package var photoURL: String
  }

  package struct PhoneFactor: Hashable, Sendable {
    package var id: String
    package var phoneNumber: String
    package var displayName: String
    package var enrolledAtMillis: Int64?
  }

  package var id: String
  package var email: String
  package var emailVerified: Bool
  package var passwordHash: [UInt8]
  package var salt: [UInt8]
  package var displayName: String
  package var photoURL: String
  package var phoneNumber: String
  package var disabled: Bool
  package var createdAtMillis: Int64?
  package var lastSignedInAtMillis: Int64?
  package var customClaimsJSON: String
  /// Those that are somebody else's: `password` and `phone` say again what the user says.
  package var providers: [Provider]
  package var phoneFactors: [PhoneFactor]

  package init(_ bytes: [UInt8]) throws(ExportFileError) {
    let json: JSONValue
    do {
      json = try JSONValue.parse(bytes, byteCountMax: FirebaseExport.userBytesMax)
    } catch {
      throw ExportFileError(description: "a user is no JSON: \(error)")
    }
    id = json.text("localId")
    email = json.text("email")
    emailVerified = json["emailVerified"]?.bool ?? false
    passwordHash = try json.bytes("passwordHash")
    salt = try json.bytes("salt")
    displayName = json.text("displayName")
    photoURL = json.text("photoUrl")
    phoneNumber = json.text("phoneNumber")
    disabled = json["disabled"]?.bool ?? false
    createdAtMillis = try json.millis("createdAt")
    lastSignedInAtMillis = try json.millis("lastSignedInAt")
    customClaimsJSON = json.text("customAttributes")
    providers = (json["providerUserInfo"]?.array ?? []).compactMap(Provider.init)
    var factors: [PhoneFactor] = []
    for info in json["mfaInfo"]?.array ?? [] { factors.append(try PhoneFactor(info)) }
    phoneFactors = factors
  }
}

extension FirebaseUser.Provider {
  fileprivate init?(_ json: JSONValue) {
    providerID = json.text("providerId")
    guard providerID != "password", providerID != "phone" else { return nil }
    subject = json.text("rawId")
    email = json.text("email")
    displayName = json.text("displayName")
    photoURL = json.text("photoUrl")
  }
}

extension FirebaseUser.PhoneFactor {
  fileprivate init(_ json: JSONValue) throws(ExportFileError) {
    id = json.text("mfaEnrollmentId")
    phoneNumber = json.text("phoneInfo")
    displayName = json.text("displayName")
    guard !phoneNumber.isEmpty else {
      throw ExportFileError(description: "a second factor has no phone number, so it is of a kind that stays behind")
    }
    let enrolledAt = json.text("enrolledAt")
    enrolledAtMillis = moment(ofRFC3339: enrolledAt)
    guard enrolledAtMillis != nil || enrolledAt.isEmpty else {
      throw ExportFileError(description: "enrolledAt is no moment of RFC 3339 in UTC")
    }
  }
}

extension JSONValue {
  fileprivate func text(_ name: String) -> String { self[name]?.string ?? "" }

  /// Firebase writes moments as texts of milliseconds.
  fileprivate func millis(_ name: String) throws(ExportFileError) -> Int64? {
    guard let value = self[name] else { return nil }
    guard let millis = value.int ?? value.string.flatMap({ Int64($0) }) else {
      throw ExportFileError(description: "\(name) is no number of milliseconds")
    }
    return millis
  }

  fileprivate func bytes(_ name: String) throws(ExportFileError) -> [UInt8] {
    let text = text(name)
    guard let bytes = AnyBase64.decode(text) else { throw ExportFileError(description: "\(name) is no base64") }
    return bytes
  }
}
