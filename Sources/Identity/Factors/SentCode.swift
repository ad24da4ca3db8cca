import Encodings
package import Sealed
import Store

/// A code that was sent to a phone, for one factor.
///
/// It is sealed in the row that it was sent for, which binds it to that attempt. A digest of six digits would not
/// protect it, because an attacker could try all codes. The seal's key is not in the database.
package struct SentCode: Hashable, Sendable {
  static let digits = 6
  static let verificationBytes = 32

  var factorID: String
  var code: String
  /// SHA-256 of the verification id. A client that has only the pending token cannot try codes that another client
  /// requested.
  var verification: Digest
  var expiresAt: Timestamp
  /// Attempts that the row had left when the code was sent.
  var attemptsThen: Int
  /// Number of codes that were sent for this row, including this one.
  var sends: Int
}

/// The reason to reject a presented code.
enum CodeFault: Hashable, Sendable {
  case wrong
  case expired
  /// The response of a passkey failed a check.
  case invalidPasskey(Failure)
}

extension SentCode {
  /// Checks a presented code. nil: it is correct.
  /// - Parameter attemptsLeft: attempts that the row has left, which shows how often this code was tried.
  func fault(
    _ presented: String, verificationID: String, attemptsLeft: Int, policy: Policy, now: Timestamp,
    _ cryptography: any Cryptography
  ) -> CodeFault? {
    guard let secret = Base64URL.decode(verificationID), secret.count == SentCode.verificationBytes,
      cryptography.equal(cryptography.sha256(secret).bytes, verification.bytes)
    else { return .wrong }
    guard now < expiresAt, attemptsThen - attemptsLeft < policy.factorCodeAttemptsMax else { return .expired }
    return cryptography.equal(Array(presented.utf8), Array(code.utf8)) ? nil : .wrong
  }
}

extension Environment {
  /// Generates a code for a factor, and its verification id.
  func newCode(
    for factorID: String, expiresAt: Timestamp, attemptsLeft: Int, after last: SentCode?
  ) -> (code: SentCode, verificationID: String) {
    let secret = randomness.bytes(SentCode.verificationBytes)
    let code = SentCode(
      factorID: factorID, code: randomness.digits(SentCode.digits), verification: cryptography.sha256(secret),
      expiresAt: expiresAt, attemptsThen: attemptsLeft, sends: (last?.sends ?? 0) + 1)
    return (code, Base64URL.encode(secret))
  }

  /// Returns the write that queues the text message.
  func send(_ code: SentCode, to number: String, of accountID: String, locale: String, now: Timestamp) -> Write {
    enqueue(
      OutgoingMessage(
        .secondFactorCode, to: .phoneNumber(number), locale: locale, values: ["code": code.code],
        expiresAt: code.expiresAt),
      for: accountID, now: now)
  }
}

// MARK: sealed form

extension SentCode: SealedContent {
  package init(_ message: Sealed.SentCode) throws {
    self.init(
      factorID: message.factorID, code: try message.code.required(),
      verification: try Digest(sealed: message.verification),
      expiresAt: Timestamp(millis: try message.expiresAtMillis.required()),
      attemptsThen: Int(message.attemptsThen), sends: Int(message.sends))
  }

  package var message: Sealed.SentCode {
    Sealed.SentCode(
      factorID: factorID, code: code, verification: verification.bytes, expiresAtMillis: expiresAt.millis,
      attemptsThen: Int64(attemptsThen), sends: Int64(sends))
  }
}
