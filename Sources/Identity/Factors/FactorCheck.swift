import Store
import Text

/// A second-factor code that a client sent.
struct ShownCode: Hashable, Sendable {
  var code: String
  /// Phone factors only.
  var verificationID = ""
  /// Passkeys only: the response of the authenticator.
  var credentialJSON = ""

  /// The code without the spaces and hyphens that a user pasted with it.
  var plain: String { oneTimeCode(code) }
}

/// The result of checking a code by the rules of its factor.
enum FactorCheck: Hashable, Sendable {
  /// The factor after the use of the code.
  case passed(FactorRecord)
  case refused(CodeFault)
  /// The sign count of a passkey did not rise (P12). nil: rejected.
  case suspicious(FactorRecord?)
}

extension Environment {
  /// Checks a code.
  /// - Parameter held: the call that waits for the factor, with the code that was sent for it or its challenge.
  /// - Parameter attemptsLeft: the number of attempts that the pending row has left.
  func check(
    _ shown: ShownCode, _ factor: FactorRecord, _ held: PendingAssertion, attemptsLeft: Int, now: Timestamp
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
      guard let sent = held.sentCode, sent.factorID == factor.id else { return .refused(.wrong) }
      let fault = sent.fault(
        shown.plain, verificationID: shown.verificationID, attemptsLeft: attemptsLeft, policy: policy, now: now,
        cryptography)
      if let fault { return .refused(fault) }
    case .passkey(let passkey):
      do {
        guard let challenge = held.passkeyChallenge, challenge.factorID == factor.id,
          challenge.expiresAt.map({ now < $0 }) ?? true
        else {
          throw Failure.invalidPasskey("challenge")
        }
        let use = try use(passkey, shown.credentialJSON, challenge)
        used.sealedSecret = seal(.passkey(passkey.used(use, at: now)), of: factor)
        if passkey.isSuspicious(use) { return .suspicious(policy.passkeySignCount == .reject ? nil : used) }
      } catch let failure as Failure {
        return .refused(.invalidPasskey(failure))
      } catch {
        return .refused(.wrong)
      }
    }
    return .passed(used)
  }
}

extension Environment {
  /// Verifies the use of a passkey as a second factor.
  private func use(_ passkey: Passkey, _ json: String, _ challenge: PasskeyChallenge) throws -> PasskeyUse {
    let presented = try passkeys.parseAssertion(json)
    guard presented.credentialID == passkey.credentialID else { throw Failure.invalidPasskey("unknown_credential") }
    return try verify(presented, json, passkey, answering: challenge).1
  }
}

extension Failure {
  static let wrongFactorCode = Failure(
    .invalidCode, field: "code", hint: "The code is wrong or used; enter a new one."
  ).rejecting(.secondFactor)
  static let codeHasExpired = Failure(.expiredCode, field: "code", hint: "Request a new code.")
    .rejecting(.secondFactor)
  static let noSuchFactor = Failure(
    .secondFactorNotFound, field: "factor_id", hint: "The account has no factor with this id.")
}
