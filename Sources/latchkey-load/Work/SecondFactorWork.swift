internal import API
internal import Reactor

// The workload of SecondFactorService.

extension Step {
  /// Enrols an authenticator app, signs in with it, and withdraws it to restore the initial state.
  static func secondFactor(_ user: LoadUser, atNanos nowNanos: Int64 = monotonicNanos()) -> Step {
    withRecentLogin(user, atNanos: nowNanos) {
      let request = StartEnrollmentRequest(idToken: user.idToken, kind: .totp)
      return .call(SecondFactorRPC.startEnrollment, request) { enrollment, _ in finish(enrollment, user) }
    }
  }

  private static func finish(_ enrollment: StartEnrollmentResponse, _ user: LoadUser) -> Step {
    guard !enrollment.enrollmentID.isEmpty, var passwords = OneTimePassword(secret: enrollment.totpSecret) else {
      return .wrong("the enrolment has no ID or no secret")
    }
    let request = FinishEnrollmentRequest(
      idToken: user.idToken, enrollmentID: enrollment.enrollmentID, code: passwords.next(atMillis: wallMillis()))
    return .call(SecondFactorRPC.finishEnrollment, request) { [passwords] response, _ in
      response.session(of: user.accountID) { session in
        guard !response.recoveryCodes.isEmpty else { return .wrong("the first factor has no recovery codes") }
        guard let factor = session.account?.secondFactors.first(where: { $0.kind == .totp }) else {
          return .wrong("the account lacks the enrolled factor")
        }
        return signIn(user, factor.factorID, passwords)
      }
    }
  }

  private static func signIn(_ user: LoadUser, _ factorID: String, _ passwords: OneTimePassword) -> Step {
    .call(AuthRPC.signIn, SignInRequest(credential: user.credential)) { response, _ in
      if response.session != nil { return .wrong("the sign-in did not require the second factor") }
      guard case .secondFactorRequired(let required)? = response.outcome else { return response.unexpected }
      guard required.hints.contains(where: { $0.factorID == factorID && $0.kind == .totp }) else {
        return .wrong("the factor is not offered")
      }
      guard !required.pendingToken.isEmpty else { return .wrong("the second factor has no pending token") }
      return showCode(user, required.pendingToken, factorID, passwords)
    }
  }

  private static func showCode(
    _ user: LoadUser, _ pendingToken: String, _ factorID: String, _ passwords: OneTimePassword
  ) -> Step {
    let request = StartSecondFactorRequest(pendingToken: pendingToken, factorID: factorID)
    return .call(SecondFactorRPC.startSecondFactor, request) { started, _ in
      guard started.verificationID.isEmpty else { return .wrong("an ID without a phone") }
      return expires(atMillis: started.expiresAtMillis) {
        var passwords = passwords
        let request = FinishSecondFactorRequest(
          pendingToken: pendingToken, factorID: factorID, code: passwords.next(atMillis: wallMillis()))
        return .call(SecondFactorRPC.finishSecondFactor, request) { response, nowNanos in
          response.session(of: user.accountID) { session in
            user.signedIn(session, atNanos: nowNanos)
            return withdraw(factorID, user)
          }
        }
      }
    }
  }

  private static func withdraw(_ factorID: String, _ user: LoadUser) -> Step {
    .call(SecondFactorRPC.withdraw, WithdrawRequest(idToken: user.idToken, factorID: factorID)) { response, _ in
      response.session(of: user.accountID) { session in
        user.keep(session)
        let hasFactor = session.account?.secondFactors.isEmpty == false
        return hasFactor ? .wrong("the account still has the withdrawn factor") : .done
      }
    }
  }
}
