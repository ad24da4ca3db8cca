internal import API

// Conversion of responses to the parts that workloads check.

extension SessionFacts {
  init(_ session: Session) {
    self.init(
      id: session.sessionID, idToken: session.idToken, refreshToken: session.refreshToken,
      account: AccountFacts(session.account), isNew: session.isNewAccount)
  }
}

extension AccountFacts {
  init(_ account: Account?) {
    let account = account ?? Account()
    self.init(
      id: account.accountID, email: account.email, isAnonymous: account.anonymous,
      providerIDs: account.providers.map(\.providerID), displayName: account.displayName,
      isDisabled: account.disabled, claimsJSON: account.customClaimsJSON,
      factors: account.secondFactors.map(FactorFacts.init))
  }
}

extension FactorFacts {
  init(_ hint: SecondFactorHint) { self.init(id: hint.factorID, kind: hint.kind?.name ?? "") }
}

extension Answer {
  init(session: Session?) { self = session.map { .session(SessionFacts($0)) } ?? .other("none") }
}
