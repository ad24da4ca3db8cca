package import Store

package struct CodeCheck: Hashable, Sendable {
  package var mode: CodeMode
  package var email: String
  package var expiresAt: Timestamp
}

/// Reports the purpose of an emailed code to the page that its link opens. Does not use up the code.
package struct CheckCode: Reading {
  private let environment: Environment
  private let call: CallFacts
  package let query: Query

  package init(_ environment: Environment, code: String, _ call: CallFacts) throws {
    self.environment = environment
    self.call = call
    var query = Query()
    query.pending = try environment.codeDigest(code, .emailLink, field: "code")
    self.query = query
  }

  package func answer(_ facts: Facts) throws -> CodeCheck {
    let now = environment.clock.now()
    let opened = try environment.openCode(
      facts.pending, [.emailLink, .signUp, .verifyEmail, .resetPassword, .changeEmail, .revertEmail], isBound: false,
      field: "code", call: call, now: now)
    if opened.isOutdated(for: facts.pendingAccount, environment.policy) {
      throw Failure.expiredSentCode(opened.kind, field: "code")
    }
    let row = opened.row
    guard let mode = CodeMode(row.purpose), let email = row.email else {
      throw Failure.wrongSentCode("not an emailed code", .emailLink, field: "code")
    }
    return CodeCheck(mode: mode, email: email, expiresAt: row.expiresAt)
  }
}
