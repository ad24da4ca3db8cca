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
    // The token is genuine, and a new one would not help: only an administrator can enable the account.
    if owner.account.disabled { return .refuse(.userIsDisabled) }
    if let failure = token.refusal(by: owner.account, at: now) { return .refuse(failure) }
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
  /// Tokens that were minted before the last cut-off ended with the sessions.
  ///
  /// A token of ours states the cut-off that it was minted under, so the answer is exact and depends on no clock. A
  /// registered signer's token has only whole seconds: one of the cut-off's own second may be older, and is rejected.
  func refusal(by account: AccountRecord, at now: Timestamp) -> Failure? {
    guard let validAfter = account.tokensValidAfter else { return nil }
    let isOlder =
      if let cutOff {
        cutOff != validAfter
      } else if validAfter.isAhead(of: now) {
        // A clock that ran ahead dated the cut-off. What was minted within the skew is accepted, since no token could
        // be used otherwise until that time comes.
        issuedAt < now.adding(millis: -Timestamp.clockSkewMillis)
      } else {
        issuedAt < validAfter
      }
    guard isOlder else { return nil }
    return Failure(
      .invalidCustomToken, field: CustomToken.field, hint: "Mint a new token at least one second after the revocation.")
  }
}
