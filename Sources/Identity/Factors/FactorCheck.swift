import Store
import Text

/// A second-factor code that a client sent.
struct ShownCode: Hashable, Sendable {
  var code: String
  /// Phone factors only.
  var verificationID = ""

  /// The code without the spaces and hyphens that a user pasted with it.
  var plain: String { oneTimeCode(code) }
}

/// The result of checking a code by the rules of its factor.
enum FactorCheck: Hashable, Sendable {
  /// The factor after the use of the code.
  case passed(FactorRecord)
  case refused(CodeFault)
}

extension Environment {
  /// Checks a code.
  /// - Parameter sent: the code that was sent for this attempt; nil: none.
  /// - Parameter attemptsLeft: the number of attempts that the pending row has left.
  func check(
    _ shown: ShownCode, _ factor: FactorRecord, sent: SentCode?, attemptsLeft: Int, now: Timestamp
  ) -> FactorCheck {
    var used = factor
    switch secret(of: factor) {
    case nil: return .refused(.wrong)
    case .totp(let secret, let lastStep):
      guard let step = TOTP.step(of: shown.plain, secret, after: lastStep, at: now, cryptography) else {
        return .refused(.wrong)
      }
      used.sealedSecret = seal(.totp(secret: secret, lastStep: step), of: factor)
    case .recoveryCodes(let codes):
      guard let rest = codes.using(shown.plain, cryptography) else { return .refused(.wrong) }
      used.sealedSecret = seal(.recoveryCodes(rest), of: factor)
    case .phone:
      guard let sent, sent.factorID == factor.id else { return .refused(.wrong) }
      let fault = sent.fault(
        shown.plain, verificationID: shown.verificationID, attemptsLeft: attemptsLeft, policy: policy, now: now,
        cryptography)
      if let fault { return .refused(fault) }
    }
    return .passed(used)
  }
}

extension Failure {
  static let wrongFactorCode = Failure(.invalidCode, field: "code", hint: "The code is wrong or used; enter a new one.")
  static let codeHasExpired = Failure(.expiredCode, field: "code", hint: "Request a new code.")
  static let noSuchFactor = Failure(
    .secondFactorNotFound, field: "factor_id", hint: "The account has no factor with this id.")
}
