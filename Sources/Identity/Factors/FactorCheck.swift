import Store
import Text

/// What a client shows of a second factor.
struct ShownCode: Hashable, Sendable {
  var code: String
  /// Phone factors only.
  var verificationID = ""

  /// The code without the spaces and hyphens that a user pasted with it.
  var plain: String { oneTimeCode(code) }
}

/// Whether a code is good, by its factor's own rules.
enum FactorCheck: Hashable, Sendable {
  /// The factor as it is from now on.
  case passed(FactorRecord)
  case refused(CodeFault)
}

extension Environment {
  /// - Parameter sent: the code that was sent for this attempt, where one was.
  /// - Parameter attemptsLeft: of the attempt.
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
  static let wrongFactorCode = Failure(.invalidCode, field: "code", hint: "The code is wrong, or was used before.")
  static let codeHasExpired = Failure(.expiredCode, field: "code", hint: "Ask for a new code.")
  static let noSuchFactor = Failure(
    .secondFactorNotFound, field: "factor_id", hint: "The account has no such factor, or no longer.")
}
