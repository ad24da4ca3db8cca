import Store
import Text

/// A code that is presented as a credential, or to redeem an email.
enum PresentedCode: Hashable, Sendable {
  case phone(verificationID: String, digits: String)
  case emailLink(email: String, code: String)
  case emailCode(EmailDigits)

  fileprivate var field: String {
    switch self {
    case .phone: "credential.phone_code.code"
    case .emailLink: "credential.email_link.code"
    case .emailCode(let digits): digits.field
    }
  }

  fileprivate var kind: CodeKind {
    switch self {
    case .phone: .phone
    case .emailLink: .emailLink
    case .emailCode: .emailCode
    }
  }

  fileprivate var handle: String {
    switch self {
    case .phone(let verificationID, _): verificationID
    case .emailLink(_, let code): code
    case .emailCode(let digits): digits.verificationID
    }
  }

  fileprivate var purposes: Set<PendingPurpose> {
    switch self {
    case .phone: [.phoneCode]
    case .emailLink: [.emailLink]
    case .emailCode: [.emailCode]
    }
  }
}

/// The call that a code must have been requested for, and its session.
struct CodeUse: Hashable, Sendable {
  /// The purpose of a phone code.
  var flow: FlowPurpose = .signIn
  /// The purposes of a code by email.
  var email: Set<EmailCodePurpose>
  /// Empty: the call needs no session.
  var accountID = ""
  var sessionID = ""

  static let signIn = CodeUse(email: [.signIn])

  static func link(_ caller: CallerSession) -> CodeUse {
    CodeUse(flow: .link, email: [.link], accountID: caller.state.account.id, sessionID: caller.session.id)
  }

  static func reauthenticate(_ caller: CallerSession) -> CodeUse {
    CodeUse(
      flow: .reauthenticate, email: [.reauthenticate], accountID: caller.state.account.id,
      sessionID: caller.session.id)
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
    opened.spend(for: accountID, sessionID: sessionID, now: now) + resets(at: now)
  }

  /// Rejects an invitation to an account that a user has entered since.
  func requireCurrent(for owner: AccountState?, _ policy: Policy) throws(Failure) {
    if opened.isOutdated(for: owner, policy) { throw .expiredSentCode(opened.kind, field: presented.field) }
  }

  /// Returns the writes that reset the counts of wrong codes.
  func resets(at now: Timestamp) -> [Write] { admitted.reset(at: now) }
}

extension Environment {
  /// Verifies a code (step 4). Writes nothing but the count of a wrong one: the commit of the call uses up the code.
  func prove(_ presented: PresentedCode, for use: CodeUse, _ call: CallFacts) async throws -> VerifiedCode {
    switch presented {
    case .phone: guard policy.phoneEnabled else { throw Failure.phoneNotEnabled }
    case .emailLink: guard policy.emailLinkEnabled else { throw Failure.emailLinkNotEnabled }
    case .emailCode(let digits):
      guard policy.emailCodes != .off else { throw Failure.emailCodeNotEnabled(field: digits.field) }
    }
    var query = Query()
    query.code = try codeDigest(presented.handle, presented.kind, field: presented.field)
    let facts = try await first(query)
    let row = try openCode(facts.code, presented.purposes, field: presented.field, call: call, now: clock.now()).row
    // Attempts are also counted per phone number or email address, because a new code has new attempts.
    var subject = row.identity.subject
    switch presented {
    case .phone: query.phoneNumber = subject
    case .emailCode:
      subject = row.email ?? subject
      query.email = subject
    case .emailLink: break
    }
    let byDevice = query.phoneNumber != nil || query.email != nil
    let throttle = throttle(.codeFailures, of: subject, byDevice: byDevice, call: call)
    throttle.look(into: &query)
    return try await decideAndCommit(query, try await load(query), call: call) { facts, now -> Step<VerifiedCode> in
      // An attacker cannot guess a link, so wrong digits for its address must not block it (check 105).
      let admitted = presented.kind == .emailLink ? throttle.proven(facts) : try throttle.admit(facts, now: now)
      let opened = try openCode(facts.code, presented.purposes, field: presented.field, call: call, now: now)
      return prove(presented, opened, admitted, for: use, now)
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
    _ presented: PresentedCode, _ opened: OpenedCode, _ admitted: AdmittedAttempt, for use: CodeUse, _ now: Timestamp
  ) -> Step<VerifiedCode> {
    let row = opened.row
    let assertion: Assertion
    var step: Step<VerifiedCode>?
    switch presented {
    case .phone(_, let digits):
      guard opened.held.purpose == use.flow, opened.held.accountID == use.accountID else {
        return .refuse(
          .wrongSentCode("requested for another purpose or account", .phone, field: presented.field))
      }
      step = refusal(of: digits, presented, opened, admitted, now)
      assertion = Assertion(identity: .phone(row.identity.subject))
    case .emailLink(let email, _):
      // Not counted: a client with the code needs no second attempt, and a typing error must not use the code up.
      guard row.email == email else {
        return .refuse(.otherMailbox(.emailLink, field: "credential.email_link.email"))
      }
      guard !opened.held.isInvitation || use.flow == .signIn else {
        return .refuse(.wrongSentCode("an invitation only signs in", .emailLink, field: presented.field))
      }
      assertion = .mailbox(email)
    case .emailCode(let digits):
      guard let purpose = opened.held.emailPurpose, use.email.contains(purpose),
        opened.held.accountID == use.accountID, opened.held.sessionID == use.sessionID, let email = row.email
      else {
        return .refuse(
          .wrongSentCode("requested for another purpose or session", .emailCode, field: presented.field))
      }
      step = refusal(of: digits.digits, presented, opened, admitted, now)
      assertion = .mailbox(email)
    }
    return step
      ?? .answer(VerifiedCode(assertion: assertion, opened: opened, presented: presented, admitted: admitted))
  }

  /// Returns the step for wrong digits, which counts them. nil: they are right.
  private func refusal(
    of digits: String, _ presented: PresentedCode, _ opened: OpenedCode, _ admitted: AdmittedAttempt, _ now: Timestamp
  ) -> Step<VerifiedCode>? {
    if cryptography.equal(Array(oneTimeCode(digits).utf8), Array(opened.held.digits.utf8)) { return nil }
    return .refuse(
      .wrongSentCode("wrong digits", presented.kind, field: presented.field),
      writing: Change([.pending(.countAttempt(opened.row.digest))] + admitted.count(at: now)))
  }
}

extension Assertion {
  /// The assertion that an emailed link or code proves.
  static func mailbox(_ email: String) -> Assertion {
    Assertion(
      identity: IdentityKey(providerID: SignInMethods.emailLink, subject: email), email: email, tier: .authoritative)
  }
}
