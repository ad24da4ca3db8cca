import Encodings
package import Store

/// A refresh token: `<session id>.<base64url of a 32-byte secret and a 16-byte tag>`.
///
/// The session id finds the row. The store keeps only the SHA-256 of the current secret. The tag is an HMAC under a key
/// that is not in the database. A token without a valid tag was not issued here and is only rejected. An outdated token
/// with a valid tag was copied, and ends its session.
package struct RefreshToken: Hashable, Sendable {
  package static let secretBytes = 32
  private static let tagBytes = 16

  package let sessionID: String
  private let secret: [UInt8]
  /// The master key of the tag, which also derived the secret if another token did not. A repeated answer thus has the
  /// same text on every replica, whichever master key comes first there.
  private let masterKey: Int

  init(sessionID: String, secret: [UInt8], masterKey: Int = 0) {
    self.sessionID = sessionID
    self.secret = secret
    self.masterKey = masterKey
  }

  /// Parses a token. Returns nil if this service did not issue it.
  ///
  /// 48 bytes fill 64 letters, so every letter counts.
  package init?(_ text: String, _ cryptography: any Cryptography) {
    guard let dot = text.utf8.firstIndex(of: UInt8(ascii: ".")),
      let bytes = Base64URL.decode(String(text[text.utf8.index(after: dot)...])),
      bytes.count == RefreshToken.secretBytes + RefreshToken.tagBytes
    else { return nil }
    let (sessionID, secret) = (String(text[..<dot]), Array(bytes.prefix(RefreshToken.secretBytes)))
    let tag = Array(bytes.suffix(RefreshToken.tagBytes))
    for masterKey in 0..<cryptography.masterKeyCount {
      let token = RefreshToken(sessionID: sessionID, secret: secret, masterKey: masterKey)
      guard cryptography.equal(Array(token.tag(cryptography)), tag) else { continue }
      self = token
      return
    }
    return nil
  }

  package func text(_ cryptography: any Cryptography) -> String {
    var text = Array(sessionID.utf8)
    text.append(UInt8(ascii: "."))
    Base64URL.append(secret + tag(cryptography), to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  package func digest(_ cryptography: any Cryptography) -> Digest { cryptography.sha256(secret) }

  /// Returns the token that follows this one. Every replica derives the same token, so a repeated refresh gets the same
  /// answer.
  package func successor(_ cryptography: any Cryptography, masterKey: Int = 0) -> RefreshToken {
    RefreshToken(
      sessionID: sessionID, secret: cryptography.successor(of: secret, family: sessionID, masterKey: masterKey),
      masterKey: masterKey)
  }

  /// Returns the token that follows this one and has this digest. Another replica may have derived it under another
  /// master key. nil: the session has moved to another token.
  func successor(_ cryptography: any Cryptography, matching digest: Digest) -> RefreshToken? {
    (0..<cryptography.masterKeyCount).lazy.map { successor(cryptography, masterKey: $0) }
      .first { cryptography.equal($0.digest(cryptography).bytes, digest.bytes) }
  }

  /// Returns the token that follows the one with this digest, for a repeated answer whose first token may be lost.
  ///
  /// Derived, so that all repeats return the same token. The seed has another length than a secret, so the result never
  /// equals a `successor`.
  package static func repeated(
    after digest: Digest, sessionID: String, _ cryptography: any Cryptography, masterKey: Int = 0
  ) -> RefreshToken {
    let seed = Array("repeated".utf8) + digest.bytes
    return RefreshToken(
      sessionID: sessionID, secret: cryptography.successor(of: seed, family: sessionID, masterKey: masterKey),
      masterKey: masterKey)
  }

  /// Returns the token of a repeated answer that the session has moved to, under any master key. nil: it has moved to
  /// another token.
  static func repeated(in session: SessionRecord, _ cryptography: any Cryptography) -> RefreshToken? {
    guard let parent = session.parentDigest else { return nil }
    return (0..<cryptography.masterKeyCount).lazy
      .map { repeated(after: parent, sessionID: session.id, cryptography, masterKey: $0) }
      .first { cryptography.equal($0.digest(cryptography).bytes, session.refreshDigest.bytes) }
  }

  private func tag(_ cryptography: any Cryptography) -> ArraySlice<UInt8> {
    cryptography.refreshTag(of: secret, family: sessionID, masterKey: masterKey).prefix(RefreshToken.tagBytes)
  }
}
