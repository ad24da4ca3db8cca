import Store

/// What `Update` may change; nil: it stays as it is. Nothing here can say that an address is proved (check 109).
struct AccountChange: Hashable, Sendable {
  var displayName: String?
  var photoURL: String?
  /// Normalised.
  var email: String?
  var passwordHash: String?
}

/// Section 6: name and photo are the person's to change at any time, address and password want a recent login.
enum UpdateDecision: Hashable, Sendable {
  case refuse(Failure)
  case update(AccountUpdate)

  static func decide(
    _ change: AccountChange, _ caller: CallerSession, emailOwner: AccountState?, mayReveal: Bool, policy: Policy,
    now: Timestamp
  ) -> UpdateDecision {
    let before = caller.state.account
    let email = change.email == before.email ? nil : change.email
    do {
      try requireProof(
        caller, newEmail: email != nil, newPassword: change.passwordHash != nil, policy: policy, now: now)
    } catch {
      return .refuse(error)
    }
    var update = AccountUpdate(edit: AccountEdit(caller.state))
    if let name = change.displayName { update.edit.edited.account.displayName = name }
    if let url = change.photoURL { update.edit.edited.account.photoURL = url }
    if let email {
      // Whether an address is taken is told to nobody who could not ask for it by FetchProviders (check 36).
      guard mayReveal else { return .refuse(needsProof) }
      if let owner = emailOwner, owner.account.id != before.id {
        return .refuse(Failure(.emailAlreadyInUse, field: "account.email", hint: "Another account uses this address."))
      }
      update.edit.exchangeAddress(for: email)
      update.newEmail = email
    }
    if let hash = change.passwordHash {
      guard update.edit.edited.account.email != nil else {
        return .refuse(Failure(.invalidField, field: "new_password", hint: "A password needs an address."))
      }
      update.edit.edited.account.passwordHash = hash
      update.edit.edited.account.passwordSetAt = now
      update.isNewPassword = true
    }
    if WaysIn(update.edit.state, policy).isEmpty, !WaysIn(caller.state, policy).isEmpty {
      return .refuse(
        Failure(.lastSignInMethod, field: "account.email", hint: "A mailed link goes to a proved address only."))
    }
    if update.endsOtherSessions { update.edit.edited.account.tokensValidAfter = now }
    return .update(update)
  }

  /// Asked before any password is hashed, and again by the decision.
  static func requireProof(
    _ caller: CallerSession, newEmail: Bool, newPassword: Bool, policy: Policy, now: Timestamp
  ) throws(Failure) {
    guard newEmail || newPassword else { return }
    guard !caller.state.account.anonymous else {
      throw Failure(.operationNotAllowed, hint: "An anonymous account gets its first way in by Link.")
    }
    if newEmail { try SessionCheck.requireRecentLogin(caller, for: .changeEmail, policy: policy, now: now) }
    if newPassword { try SessionCheck.requireRecentLogin(caller, for: .changePassword, policy: policy, now: now) }
    try SessionCheck.requireSecondFactor(caller)
  }

  private static let needsProof = Failure(
    .operationNotAllowed, field: "account.email", hint: "Use VerificationService.SendEmailChange instead.")
}

/// An account as it will be, and what of it is more than a name or a photo.
struct AccountUpdate: Hashable, Sendable {
  var edit: AccountEdit
  var newEmail: String?
  var isNewPassword = false

  var isNewProfile: Bool {
    let (before, after) = (edit.before, edit.edited.account)
    return before.displayName != after.displayName || before.photoURL != after.photoURL
  }

  /// What others may have been told, or signed in with, is not the account's any more.
  var endsOtherSessions: Bool { newEmail != nil || isNewPassword }
}

extension AccountEdit {
  /// The proof was of the old address, and so was an administrator's word. The new one is the person's own choice,
  /// which no unlink takes along. What the old one left in doubt stays so: its owner may take the change back.
  mutating func exchangeAddress(for email: String) {
    edited.account.email = email
    edited.account.emailProof = nil
    edited.account.emailProofProviderID = nil
    edited.account.emailSource = WaysIn.password
    edited.account.madeByAdministrator = false
  }
}
