import Encodings
import Store
import Text
import Tokens

/// User data from providers, limited to what is fit for storage and display.
enum ProfileClaims {
  static let textBytesMax = 1024
  static let profileBytesMax = 16_384
  static let subjectBytes = 1...255

  /// Removes control characters, as from callers' texts, and cuts to the limit. Returns an empty text if the claim is
  /// not a text.
  static func text(_ claim: JSONValue?) -> String {
    ShownText.cut(ShownText.cleaned(claim?.string ?? ""), bytesMax: textBytesMax)
  }

  /// Returns http and https URLs only: a page that shows the photo must not run it. A URL above the limit is dropped,
  /// because a part of it leads elsewhere.
  static func url(_ claim: JSONValue?) -> String {
    let url = ShownText.withoutControls(claim?.string ?? "")
    return url.utf8.count <= textBytesMax && (url.hasPrefix("https://") || url.hasPrefix("http://")) ? url : ""
  }

  static func email(_ claim: JSONValue?) -> String? { claim?.string.flatMap { try? normaliseEmail($0) } }

  /// Returns the document as received; empty if it is larger than an account stores.
  static func profile(_ bytes: [UInt8]) -> String {
    bytes.count <= profileBytesMax ? String(decoding: bytes, as: UTF8.self) : ""
  }

  /// Returns a subject from a text or an integer. OpenID Connect Core 2: ASCII, at most 255 characters. Subjects that
  /// are equivalent in Unicode would be one text and two rows, and all users would share an empty one.
  static func subject(_ claim: JSONValue?) throws(ProviderRefusal) -> String {
    guard let subject = claim?.idText, subjectBytes.contains(subject.utf8.count),
      subject.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
    else { throw .invalid(why: TokenRefusal.subject.rawValue) }
    return subject
  }

  /// Makes an assertion about a subject.
  ///
  /// - Parameters:
  ///   - documents: documents of the provider, the most trustworthy first.
  ///   - profile: the document that the account stores.
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

extension ProfileClaims {
  /// Returns whether an ID token contains all relevant user data, so that userinfo could add nothing.
  static func isComplete(_ claims: JSONValue, of settings: ProviderSettings) -> Bool {
    let names = settings.claims
    let needed = [names.email, names.name] + (settings.emailTrust.needsWord ? [names.emailVerified] : [])
    return needed.allSatisfy { claims.given(at: $0) != nil }
  }

  /// Returns the document that supplies the email address.
  ///
  /// The address and its verified flag must come from the same document, or one would vouch for the other's address. If
  /// the flag matters, a document with the flag precedes one without. With `profileGoesFirst`, userinfo always comes
  /// first: a flag that it omits is false.
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
  /// An id as text. Some providers write a number.
  var idText: String? { string ?? int.map { String($0) } }
}
