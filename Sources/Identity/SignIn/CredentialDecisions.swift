import Store

/// A password that was checked against the hash that the address' owner had then.
struct CheckedPassword: Hashable, Sendable {
  var email: String
  var ownerID: String?
  var hash: String?
  var check: PasswordCheck

  func isOf(_ account: AccountRecord?) -> Bool { ownerID == account?.id && hash == account?.passwordHash }
}

/// The credentials of 3.4 that meet no conflict.
enum CredentialDecision {
  /// Unknown, without password, wrong: one answer. Disabled is told only to who knows the password.
  static func decide(
    _ password: CheckedPassword, _ facts: Facts, passedFor: String? = nil, now: Timestamp
  ) -> SignInDecision {
    guard password.isOf(facts.emailOwner?.account) else { return .checkAgain }
    guard password.check.matches, let owner = facts.emailOwner else { return .refuse(.wrongPassword) }
    return signIn(owner, upgradedHash: password.check.upgradedHash, passedFor: passedFor, now: now)
  }

  static func decideAnonymous(newAccountID: String, existingOnly: Bool, now: Timestamp) -> SignInDecision {
    if existingOnly { return .refuse(.noAccountYet) }
    var account = AccountRecord(id: newAccountID, createdAt: now)
    account.anonymous = true
    return .open(create(account, by: .anonymous, now: now))
  }

  /// The token names the account; an unknown one is created under that name, but never a second time: an id
  /// whose account was removed is nobody's for ever.
  static func decide(
    _ token: CustomToken, _ facts: Facts, existingOnly: Bool, passedFor: String? = nil, now: Timestamp
  ) -> SignInDecision {
    guard let owner = facts.account else {
      if facts.closedAccount != nil { return .refuse(Failure(.accountNotFound, hint: "The account was closed.")) }
      if existingOnly { return .refuse(.noAccountYet) }
      var account = AccountRecord(id: token.accountID, createdAt: now)
      account.customToken = true
      return .open(create(account, by: .customToken, now: now))
    }
    if let failure = token.refusal(by: owner.account) { return .refuse(failure) }
    return signIn(owner, byCustomToken: true, passedFor: passedFor, now: now)
  }

  private static func signIn(
    _ owner: AccountState, byCustomToken: Bool = false, upgradedHash: String? = nil, passedFor: String?, now: Timestamp
  ) -> SignInDecision {
    if owner.account.disabled { return .refuse(.userIsDisabled) }
    if owner.wantsSecondFactor(passedFor: passedFor) { return .secondFactorRequired(owner) }
    var edit = AccountEdit(owner)
    if byCustomToken { edit.noteCustomToken() }
    edit.noteSignIn(at: now, upgradedHash: upgradedHash)
    return .open(Opening(state: edit.state, writes: edit.signInWrites + edit.endOfGuestSessions(at: now)))
  }

  private static func create(_ record: AccountRecord, by first: FirstFactor, now: Timestamp) -> Opening {
    var account = record
    account.lastSignInAt = now
    let note = AuditNote(
      .accountCreated, accountID: account.id, details: ["provider_id": first.signInProviderID])
    return Opening(
      state: AccountState(account: account), writes: [.insertAccount(account)], notes: [note], isNewAccount: true)
  }
}

extension CustomToken {
  /// Tokens from before this moment were cut off with the sessions; `iat` has whole seconds, so that one issued in the
  /// very second of the cut is refused too.
  func refusal(by account: AccountRecord) -> Failure? {
    guard let validAfter = account.tokensValidAfter, issuedAt < validAfter else { return nil }
    return Failure(.invalidCustomToken, field: "credential", hint: "Mint a new one.")
  }
}
