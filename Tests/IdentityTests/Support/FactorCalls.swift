import Store

@testable import Identity

let totpSecret = [UInt8](1...20)
let adasNumber = "+441632960962"

extension World {
  /// Inserts an account with a verified address, a password, Google, and these factors with their secrets.
  @discardableResult
  func insertPerson(
    _ kinds: [FactorKind] = [.totp, .recoveryCode], id: String = "account-y", identities: [Assertion] = [google()],
    edit: (inout AccountRecord) -> Void = { _ in }
  ) -> AccountState {
    var state = account(
      id: id, .verified(ada), password: true, identities: identities, factors: kinds, edit: edit)
    for index in state.factors.indices {
      let factor = state.factors[index]
      switch factor.kind {
      case .totp:
        let secret = FactorSecret.totp(secret: totpSecret, lastStep: nil)
        state.factors[index].sealedSecret = environment.seal(secret, of: factor)
      case .recoveryCode:
        let codes = RecoveryCodes.make(SeededRandomness(seed: 7), cryptography).codes
        state.factors[index].sealedSecret = environment.seal(.recoveryCodes(codes), of: factor)
      case .phone: state.factors[index].phoneNumber = adasNumber
      case .passkey: break
      }
    }
    store.insert(state)
    return state
  }

  var recoveryCodes: [String] { RecoveryCodes.make(SeededRandomness(seed: 7), cryptography).texts }

  /// The code of the user's authenticator, `offset` steps from now.
  func totpCode(_ offset: Int64 = 0, secret: [UInt8] = totpSecret) -> String {
    TOTP.code(secret, step: TOTP.step(at: now) + offset, cryptography)
  }

  /// The code of the last queued text message.
  func textedCode() throws -> String {
    guard let record = store.contents.deliveries.last, let message = environment.message(of: record),
      message.kind == .secondFactorCode, let code = message.values["code"]
    else { throw UnexpectedAnswer(text: "no code was queued") }
    return code
  }

  func start(
    _ required: SecondFactorRequired, _ factorID: String, locale: String = "", _ call: CallFacts? = nil
  ) async throws -> StartedFactor {
    try await StartSecondFactor(environment)(
      handle: required.handle, factorID: factorID, locale: locale, call ?? self.call())
  }

  func finish(
    _ required: SecondFactorRequired, _ factorID: String = "factor-totp", _ code: String? = nil,
    verificationID: String = "", _ call: CallFacts? = nil
  ) async throws -> FinishSecondFactorAnswer {
    try await FinishSecondFactor(environment)(
      FinishSecondFactorRequest(
        handle: required.handle, factorID: factorID, verificationID: verificationID, code: code ?? totpCode()),
      call ?? self.call())
  }

  func finish(_ required: SecondFactorRequired, _ call: CallFacts) async throws -> FinishSecondFactorAnswer {
    try await finish(required, "factor-totp", nil, call)
  }

  func startEnrollment(
    _ kind: FactorKind, _ session: SessionGrant, phoneNumber: String? = nil, locale: String = ""
  ) async throws -> StartedEnrollment {
    try await StartEnrollment(environment)(
      StartEnrollmentRequest(
        idToken: session.idToken, kind: kind, phoneNumber: phoneNumber, displayName: "mine", locale: locale), call())
  }

  func finishEnrollment(
    _ started: StartedEnrollment, _ session: SessionGrant, _ code: String, _ call: CallFacts? = nil
  ) async throws -> FinishedEnrollment {
    try await FinishEnrollment(environment)(
      FinishEnrollmentRequest(idToken: session.idToken, enrollmentID: started.enrollmentID, code: code),
      call ?? self.call())
  }

  /// The code of an authenticator that was set up with the answer to an enrollment.
  func code(of started: StartedEnrollment) throws -> String {
    guard let row = try row(started.enrollmentID),
      let plain = cryptography.open(row.sealed, context: PendingTable.context(of: row)),
      let held = PendingEnrollment(packed: plain)
    else { throw UnexpectedAnswer(text: "the enrollment has no pending row") }
    return totpCode(secret: held.secret)
  }

  func withdraw(_ factorID: String, _ session: SessionGrant) async throws -> SessionGrant {
    try await Withdraw(environment)(WithdrawRequest(idToken: session.idToken, factorID: factorID), call())
  }
}

extension FinishSecondFactorAnswer {
  var grant: SessionGrant {
    get throws { if case .session(let grant, _) = self { grant } else { throw UnexpectedAnswer(text: "\(self)") } }
  }
  var exists: AccountExists {
    get throws { if case .accountExists(let exists) = self { exists } else { throw UnexpectedAnswer(text: "\(self)") } }
  }
  var inUse: CredentialInUse {
    get throws { if case .credentialInUse(let inUse) = self { inUse } else { throw UnexpectedAnswer(text: "\(self)") } }
  }
}
