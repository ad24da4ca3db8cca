import Store

/// Changes that `Update` may make. nil: no change. None of them can mark an email address as verified (check 109).
struct AccountChange: Hashable, Sendable {
  var displayName: String?
  var photoURL: String?
  /// Normalised.
  var email: String?
  var passwordHash: String?
}

/// Decision about an update (section 6). Name and photo can change at any time. Email address and password require a
/// recent login.
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
      // Only a caller that could ask FetchProviders learns whether an address is taken (check 36).
      guard mayReveal else { return .refuse(needsProof) }
      if let failure = policy.refusal(ofAddress: email, field: "account.email") { return .refuse(failure) }
      if let owner = emailOwner, owner.account.id != before.id {
        return .refuse(
          Failure(.emailAlreadyInUse, field: "account.email", hint: "Another account uses this email address."))
      }
      update.edit.exchangeAddress(for: email)
      update.newEmail = email
    }
    if let hash = change.passwordHash {
      guard update.edit.edited.account.email != nil else {
        return .refuse(Failure(.invalidField, field: "new_password", hint: "Set an email address before the password."))
      }
      update.edit.edited.account.passwordHash = hash
      update.edit.edited.account.passwordSetAt = now
      update.isNewPassword = true
    }
    if SignInMethods(update.edit.state, policy).isEmpty, !SignInMethods(caller.state, policy).isEmpty {
      return .refuse(
        Failure(
          .lastSignInMethod, field: "account.email",
          hint: "Sign-in links need a verified email address. Link another sign-in method first."))
    }
    if update.endsOtherSessions { update.edit.edited.account.tokensValidAfter = now }
    return .update(update)
  }

  /// Requires the login that the change needs. Called before any password is hashed, and again by the decision.
  static func requireProof(
    _ caller: CallerSession, newEmail: Bool, newPassword: Bool, policy: Policy, now: Timestamp
  ) throws(Failure) {
    guard newEmail || newPassword else { return }
    guard !caller.state.account.anonymous else {
      throw Failure(.operationNotAllowed, hint: "Call Link to add the first sign-in method of an anonymous account.")
    }
    if newEmail { try SessionCheck.requireRecentLogin(caller, for: .changeEmail, policy: policy, now: now) }
    if newPassword { try SessionCheck.requireRecentLogin(caller, for: .changePassword, policy: policy, now: now) }
    try SessionCheck.requireSecondFactor(caller)
  }

  private static let needsProof = Failure(
    .operationNotAllowed, field: "account.email", hint: "Call VerificationService.SendEmailChange instead.")
}

/// The account after an update, and which changes go beyond a name or a photo.
struct AccountUpdate: Hashable, Sendable {
  var edit: AccountEdit
  var newEmail: String?
  var isNewPassword = false

  var isNewProfile: Bool {
    let (before, after) = (edit.before, edit.edited.account)
    return before.displayName != after.displayName || before.photoURL != after.photoURL
  }

  /// Whether other sessions end, because the email address or password that they relied on has changed.
  var endsOtherSessions: Bool { newEmail != nil || isNewPassword }
}

extension AccountEdit {
  /// Replaces the email address.
  ///
  /// A verification, or an administrator's statement, applied to the old address only. The user chose the new one, so
  /// no unlink removes it. `emailVerifiedAt` stays, because the owner of the old address may revert the change.
  mutating func exchangeAddress(for email: String) {
    edited.account.emailAddress = EmailAddress(email, source: SignInMethods.password)
    edited.account.madeByAdministrator = false
  }
}
