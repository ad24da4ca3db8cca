/// An iteration that signs in anonymously, ends the session in one of several ways, and checks that it has ended.
struct EndSession: Work {
  enum Way { case signOut, revokeAll, revokeSessions, disable, deleteAccount }

  private enum Stage { case signingIn, ending, asking, opening }

  let way: Way
  private var stage = Stage.signingIn
  private var idToken = ""
  private var accountID = ""

  init(by way: Way) { self.way = way }

  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step {
    switch (stage, answer) {
    case (_, nil): return .call(.signIn(.anonymous))
    case (.signingIn, .session(let session)?):
      if let flaw = session.flaw(of: nil) { return .wrong(flaw) }
      (idToken, accountID) = (session.idToken, session.account.id)
      stage = .ending
      return .call(end)
    case (.ending, let answer?):
      if let wrong = wrong(answer) { return wrong }
      stage = .asking
      return .call(.verify(idToken: idToken))
    case (.asking, .verdict(let active, _, _)?):
      if active { return .wrong("the session is still open") }
      guard way == .disable else { return .done }
      stage = .opening
      return .call(.setDisabled(accountID: accountID, false))
    case (.opening, .account(let account)?):
      return account.id == accountID && !account.isDisabled ? .done : .wrong("the account is still disabled")
    case (_, let answer?): return answer.surprise
    }
  }

  private var end: Call {
    switch way {
    case .signOut: .signOut(idToken: idToken)
    case .revokeAll: .revokeAll(idToken: idToken)
    case .revokeSessions: .revokeSessions(accountID: accountID)
    case .disable: .setDisabled(accountID: accountID, true)
    case .deleteAccount: .deleteAccount(accountID: accountID)
    }
  }

  /// Checks the response of the call that ends the session. Returns nil if the response is correct.
  private func wrong(_ answer: Answer) -> Step? {
    switch (way, answer) {
    case (.signOut, .done), (.deleteAccount, .done): nil
    case (.revokeAll, .closed(let count)), (.revokeSessions, .closed(let count)):
      count == 1 ? nil : .wrong("\(count) sessions ended instead of one")
    case (.disable, .account(let account)):
      account.id == accountID && account.isDisabled ? nil : .wrong("the account is not disabled")
    default: answer.surprise
    }
  }
}
