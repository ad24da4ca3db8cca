import Encodings
import Store
import Text
import Tokens

/// What providers say about a person, as far as it is fit to be stored and shown.
enum Person {
  static let textBytesMax = 1024
  static let profileBytesMax = 16_384
  static let subjectBytes = 1...255

  /// Without control characters, as callers' text is kept, and cut to its limit. Empty for what is not a text.
  static func text(_ claim: JSONValue?) -> String {
    ShownText.cut(ShownText.cleaned(claim?.string ?? ""), bytesMax: textBytesMax)
  }

  /// Web addresses only: a page that shows the photo must not be made to run it. One that is too long is left out, for
  /// a part of it leads elsewhere.
  static func url(_ claim: JSONValue?) -> String {
    let url = ShownText.withoutControls(claim?.string ?? "")
    return url.utf8.count <= textBytesMax && (url.hasPrefix("https://") || url.hasPrefix("http://")) ? url : ""
  }

  static func email(_ claim: JSONValue?) -> String? { claim?.string.flatMap { try? normaliseEmail($0) } }

  /// The document as it was received; empty where it is more than an account keeps.
  static func profile(_ bytes: [UInt8]) -> String {
    bytes.count <= profileBytesMax ? String(decoding: bytes, as: UTF8.self) : ""
  }

  /// A text or a whole number. OpenID Connect Core 2: ASCII, at most 255 characters; subjects that Unicode calls
  /// equivalent would be one text and two rows, and an empty one would be everybody's.
  static func subject(_ claim: JSONValue?) throws(ProviderRefusal) -> String {
    guard let subject = claim?.idText, subjectBytes.contains(subject.utf8.count),
      subject.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
    else { throw .invalid(why: TokenRefusal.subject.rawValue) }
    return subject
  }

  /// - Parameters:
  ///   - documents: What the provider said, the most trustworthy first.
  ///   - profile: The document that the account keeps.
  static func assertion(
    _ subject: String, of settings: ProviderSettings, documents: [JSONValue], profile: [UInt8]
  ) -> Assertion {
    let names = settings.claims
    func first(_ name: String) -> JSONValue? { documents.lazy.compactMap { $0.given(at: name) }.first }
    var assertion = Assertion(identity: IdentityKey(providerID: settings.id, subject: subject))
    if let document = documentOfEmail(documents, of: settings), let email = email(document.member(at: names.email)) {
      assertion.email = email
      assertion.tier = settings.emailTrust.tier(
        of: email, EmailEvidence(document, names, takesText: settings.takesTextAsVerified))
    }
    assertion.displayName = text(first(names.name))
    assertion.photoURL = url(first(names.picture))
    assertion.username = text(first(names.username))
    assertion.profileJSON = self.profile(profile)
    return assertion
  }
}

extension Person {
  /// Whether an ID token says all that matters about its person, so that userinfo could add nothing.
  static func isComplete(_ claims: JSONValue, of settings: ProviderSettings) -> Bool {
    let names = settings.claims
    let needed = [names.email, names.name] + (settings.emailTrust.needsWord ? [names.emailVerified] : [])
    return needed.allSatisfy { claims.given(at: $0) != nil }
  }

  /// An address and the word that it was checked are of one document, or the one would vouch for the other's. Where
  /// that word counts, a document that has none stands behind one that has, unless userinfo is believed first: what it
  /// does not say there is not so.
  private static func documentOfEmail(_ documents: [JSONValue], of settings: ProviderSettings) -> JSONValue? {
    let names = settings.claims
    let withEmail = documents.filter { $0.given(at: names.email)?.string != nil }
    guard settings.emailTrust.needsWord, !settings.profileGoesFirst else { return withEmail.first }
    return withEmail.first { $0.given(at: names.emailVerified) != nil } ?? withEmail.first
  }
}

/// 64-bit ids, which X, Facebook and Discord send as text.
enum Decimal {
  static let idDigits = 1...20

  static func isID(_ text: String) -> Bool {
    idDigits.contains(text.utf8.count)
      && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }
}

extension JSONValue {
  /// By its name, or step by step where the name has dots and is not there as it stands: claims that are named by URLs
  /// have dots too.
  func member(at path: String) -> JSONValue? {
    if let value = self[path] { return value }
    guard path.utf8.contains(UInt8(ascii: ".")) else { return nil }
    return path.split(separator: ".", omittingEmptySubsequences: false)
      .reduce(Optional(self)) { value, name in value?[String(name)] }
  }

  /// The same, where it says something, as null and the empty text do not.
  func given(at path: String) -> JSONValue? {
    switch member(at: path) {
    case nil, .null: nil
    case .string(let text) where text.isEmpty: nil
    case let value: value
    }
  }

  /// An id, which some write as a number.
  var idText: String? { string ?? int.map { String($0) } }
}
