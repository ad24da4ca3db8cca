import Store

/// A password after its check against the hash that the owner of the email address had then.
struct CheckedPassword: Hashable, Sendable {
  var email: String
  var ownerID: String?
  var hash: String?
  var check: PasswordCheck

  func isOf(_ account: AccountRecord?) -> Bool { ownerID == account?.id && hash == account?.passwordHash }
}

/// Decisions for the credentials of section 3.4 that cannot conflict: password, anonymous and custom token.
enum CredentialDecision {
  /// Decides a password sign-in.
  ///
  /// An unknown email address, an account without a password and a wrong password get the same answer. Only the correct
  /// password reveals that the account is disabled.
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

  /// Decides a custom-token sign-in. The token states the account id, and an unknown id gets a new account. The id of a
  /// deleted account is never used again.
  static func decide(
    _ token: CustomToken, _ facts: Facts, existingOnly: Bool, passedFor: String? = nil, now: Timestamp
  ) -> SignInDecision {
    guard let owner = facts.account else {
      if facts.closedAccount != nil { return .refuse(Failure(.accountNotFound, hint: "The account was deleted.")) }
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
    _ owner: AccountState, byCustomToken: Bool = false, upgradedHash: String? = nil, passedFor: String?,
    now: Timestamp
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
      state: AccountState(account: account), writes: [.account(.insert(account))], notes: [note], isNewAccount: true)
  }
}

extension CustomToken {
  /// Rejects tokens that were minted before the account's last cut-off, which also ended its sessions.
  ///
  /// Our own token states the cut-off that it was minted under, so the check is exact and needs no clock. A registered
  /// signer's token has only whole seconds. One from the same second as the cut-off may be older, and is rejected.
  func refusal(by account: AccountRecord, at now: Timestamp) -> Failure? {
    guard let validAfter = account.tokensValidAfter else { return nil }
    let isOlder =
      if let cutOff {
        cutOff != validAfter
      } else if validAfter.isAhead(of: now) {
        // A clock that ran ahead set the cut-off. Tokens minted within the allowed skew are accepted: otherwise no
        // token would be valid until that time.
        issuedAt < now.adding(millis: -Timestamp.clockSkewMillis)
      } else {
        issuedAt < validAfter
      }
    guard isOlder else { return nil }
    return Failure(
      .invalidCustomToken, field: CustomToken.field, hint: "Mint a new token at least one second after the revocation.")
  }
}
