import Store
import Text

/// A code that is presented as a credential.
enum PresentedCode: Hashable, Sendable {
  case phone(verificationID: String, digits: String)
  case emailLink(email: String, code: String)

  fileprivate var field: String {
    switch self {
    case .phone: "credential.phone_code.code"
    case .emailLink: "credential.email_link.code"
    }
  }

  fileprivate var handle: String {
    switch self {
    case .phone(let verificationID, _): verificationID
    case .emailLink(_, let code): code
    }
  }

  fileprivate var purposes: Set<PendingPurpose> {
    switch self {
    case .phone: [.phoneCode]
    case .emailLink: [.emailLink]
    }
  }
}

/// A correct code: what it proves, and the row that the commit of the call uses up.
struct VerifiedCode: Sendable {
  var assertion: Assertion
  fileprivate var opened: OpenedCode
  fileprivate var presented: PresentedCode
  /// The throttle that counts wrong codes.
  fileprivate var admitted: AdmittedAttempt

  var digest: Digest { opened.row.digest }
  var firstFactor: FirstFactor { .provider(assertion.identity.providerID) }

  func spend(for accountID: String = "", sessionID: String = "", now: Timestamp) -> [Write] {
    [opened.spend(for: accountID, sessionID: sessionID, now: now)] + admitted.reset(at: now)
  }
}

extension Environment {
  /// Verifies a code (step 4). Writes nothing but the count of a wrong one: the commit of the call uses up the code.
  func prove(
    _ presented: PresentedCode, ending purpose: FlowPurpose, account: String = "", _ call: CallFacts
  ) async throws -> VerifiedCode {
    switch presented {
    case .phone: guard policy.phoneEnabled else { throw Failure.phoneNotEnabled }
    case .emailLink: guard policy.emailLinkEnabled else { throw Failure.emailLinkNotEnabled }
    }
    var query = Query()
    query.code = try codeDigest(presented.handle, field: presented.field)
    let facts = try await first(query)
    let row = try openCode(facts.code, presented.purposes, field: presented.field, call: call, now: clock.now()).row
    // Attempts are also counted per phone number or email address, because a new code has new attempts.
    if case .phone = presented { query.phoneNumber = row.identity.subject }
    let throttle = throttle(
      .codeFailures, of: row.identity.subject, byDevice: query.phoneNumber != nil, call: call)
    throttle.look(into: &query)
    return try await decideAndCommit(query, try await load(query), call: call) { facts, now -> Step<VerifiedCode> in
      let admitted = try throttle.admit(facts, now: now)
      let opened = try openCode(facts.code, presented.purposes, field: presented.field, call: call, now: now)
      return prove(presented, opened, admitted, ending: purpose, account: account, now)
    }
  }

  /// Opens the row again, for a decision on newer facts.
  func proveAgain(
    _ code: VerifiedCode, _ record: PendingRecord?, _ call: CallFacts, _ now: Timestamp
  ) throws(Failure) -> VerifiedCode {
    var code = code
    code.opened = try openCode(
      record, code.presented.purposes, field: code.presented.field, call: call, now: now)
    return code
  }

  private func prove(
    _ presented: PresentedCode, _ opened: OpenedCode, _ admitted: AdmittedAttempt, ending purpose: FlowPurpose,
    account: String, _ now: Timestamp
  ) -> Step<VerifiedCode> {
    let row = opened.row
    let assertion: Assertion
    switch presented {
    case .phone(_, let digits):
      guard opened.held.purpose == purpose, opened.held.accountID == account else {
        return .refuse(Failure.wrongSentCode("requested for another purpose or account", field: presented.field))
      }
      guard cryptography.equal(Array(oneTimeCode(digits).utf8), Array(opened.held.digits.utf8)) else {
        return .refuse(
          Failure.wrongSentCode("wrong digits", field: presented.field),
          writing: Change([.pending(.countAttempt(row.digest))] + admitted.count(at: now)))
      }
      assertion = Assertion(identity: .phone(row.identity.subject))
    case .emailLink(let email, _):
      // Not counted: a client with the code needs no second attempt, and a typing error must not use the code up.
      guard row.email == email else {
        return .refuse(Failure.otherMailbox(field: "credential.email_link.email"))
      }
      assertion = .mailbox(email)
    }
    return .answer(
      VerifiedCode(assertion: assertion, opened: opened, presented: presented, admitted: admitted))
  }
}

extension Assertion {
  /// The assertion that an emailed code proves.
  static func mailbox(_ email: String) -> Assertion {
    Assertion(
      identity: IdentityKey(providerID: SignInMethods.emailLink, subject: email), email: email, tier: .authoritative)
  }
}
