import Store

/// Changes of an account that an administrator requests. nil: no change. An empty text clears the field.
package struct AccountRevision: Hashable, Sendable {
  package enum Password: Hashable, Sendable {
    /// The hash of a new password.
    case set(hash: String)
    case clear
  }

  /// Normalised.
  package var email: String?
  package var emailVerified: Bool?
  package var phoneNumber: String?
  package var displayName: String?
  package var photoURL: String?
  package var password: Password?
  package var disabled: Bool?

  package init() {}
}

/// Decision about UpdateAccount (section 14).
enum RevisionDecision: Hashable, Sendable {
  case refuse(Failure)
  /// The account is as requested already.
  case unchanged
  case revise(RevisedAccount)

  static func decide(
    _ revision: AccountRevision, _ state: AccountState, emailOwner: AccountState? = nil,
    phoneOwner: AccountState? = nil, policy: Policy, now: Timestamp
  ) -> RevisionDecision {
    var revised = RevisedAccount(edit: AccountEdit(state))
    do {
      try revised.setEmail(revision, owner: emailOwner, now: now)
      try revised.setPhoneNumber(revision.phoneNumber, owner: phoneOwner, now: now)
      try revised.setPassword(revision.password, now: now)
    } catch {
      return .refuse(error)
    }
    if let name = revision.displayName { revised.edit.edited.account.displayName = name }
    if let url = revision.photoURL { revised.edit.edited.account.photoURL = url }
    if let disabled = revision.disabled { revised.edit.edited.account.disabled = disabled }
    guard revised.edit.edited.account != revised.edit.before else { return .unchanged }
    revised.losesLastMethod = SignInMethods(revised.edit.state, policy).isEmpty && !revised.unlinked.isEmpty
    if revised.endOfAllSessions != nil {
      revised.edit.edited.account.tokensValidAfter = max(state.account.tokensValidAfter ?? now, now)
    }
    return .revise(revised)
  }
}

/// An account after a revision, and what follows from it.
struct RevisedAccount: Hashable, Sendable {
  var edit: AccountEdit
  var isNewPassword = false
  /// Whether the account would have lost its last usable method by `unlinked`.
  var losesLastMethod = false
  /// The account's own methods that are gone.
  var unlinked: [String] = []

  init(edit: AccountEdit) { self.edit = edit }

  private var before: AccountRecord { edit.before }
  private var after: AccountRecord { edit.edited.account }

  var isNewEmail: Bool { before.email != after.email }
  var isNewPhoneNumber: Bool { before.phoneNumber != after.phoneNumber }

  /// The reason for which every session ends; nil: not all end.
  ///
  /// The same changes end all other sessions of a user who makes them. An administrator has no session to continue.
  var endOfAllSessions: SessionClosedReason? {
    if after.disabled, !before.disabled { return .disabled }
    if isNewPassword { return .passwordChanged }
    if isNewEmail { return .emailChanged }
    return losesLastMethod ? .unlinked : nil
  }
}

// MARK: what follows

extension RevisedAccount {
  /// Returns the writes that end what relied on the former state.
  func endings(at now: Timestamp) -> [Write] {
    let id = before.id
    guard let reason = endOfAllSessions else {
      return unlinked.map { method in
        let isReplaced = method == SignInMethods.phone && after.phoneNumber != nil
        return .session(.closeBegun(
          accountID: id, beganWith: method, except: nil, at: now, reason: isReplaced ? .numberReplaced : .unlinked))
      } + edit.endOfGuestSessions(at: now)
    }
    var writes: [Write] = [.session(.closeAll(accountID: id, except: nil, at: now, reason: reason))]
    if isNewEmail {
      // Also the revert links. An attacker who moved the account to an address of their own may have one.
      writes.append(.pending(.deleteAll(accountID: id)))
    } else if isNewPassword {
      writes.append(.pending(.deleteAll(
        accountID: id, sparing: PendingPurpose.ofTheMailbox)))
    }
    return writes
  }

  /// The events, in the order of their types.
  var notes: [AuditNote] {
    func note(_ event: AuditEvent, _ details: [String: String] = [:]) -> AuditNote {
      AuditNote(
        event, accountID: before.id, details: details.merging(AdminDecision.byAdministrator) { detail, _ in detail })
    }
    var notes: [AuditNote] = []
    notes += unlinked.map { note(.unlinked, ["provider_id": $0]) }
    if isNewPhoneNumber, after.phoneNumber != nil { notes.append(note(.linked, ["provider_id": SignInMethods.phone])) }
    if before.displayName != after.displayName || before.photoURL != after.photoURL {
      notes.append(note(.profileChanged))
    }
    if isNewEmail { notes.append(note(.emailChanged)) }
    if isNewPassword { notes.append(note(.passwordChanged)) }
    if after.emailVerified, isNewEmail || !before.emailVerified { notes.append(note(.emailVerified)) }
    if before.emailVerified, !after.emailVerified, !isNewEmail { notes.append(note(.emailUnverified)) }
    if before.disabled != after.disabled {
      notes.append(AuditNote(after.disabled ? .disabled : .enabled, accountID: before.id))
    }
    return notes
  }
}

// MARK: the fields

extension RevisedAccount {
  fileprivate mutating func setEmail(
    _ revision: AccountRevision, owner: AccountState?, now: Timestamp
  ) throws(Failure) {
    if let email = revision.email, email != before.email ?? "" {
      if email.isEmpty {
        edit.removeAddress()
        edit.removeEmailLink()
      } else {
        guard owner == nil || owner?.account.id == before.id else {
          throw Failure(
            .emailAlreadyInUse, field: "account.email", hint: "Another account uses this email address.")
        }
        // Keeps who made the account: an account that no user entered stays open to the owner of its address (S12).
        edit.edited.account.emailAddress = EmailAddress(email, source: SignInMethods.password)
        edit.edited.account.anonymous = false
      }
    }
    guard let verified = revision.emailVerified else { return }
    guard after.email != nil || !verified else {
      throw Failure(.invalidField, field: "account.email_verified", hint: "The account has no email address.")
    }
    if verified {
      edit.verify(by: .administrator, now: now)
    } else {
      edit.edited.account.emailAddress?.verification = nil
    }
  }

  fileprivate mutating func setPhoneNumber(
    _ number: String?, owner: AccountState?, now: Timestamp
  ) throws(Failure) {
    guard let number, number != before.phoneNumber ?? "" else { return }
    guard owner == nil || owner?.account.id == before.id else {
      throw .phoneNumberIsTaken(field: "account.phone_number")
    }
    if before.phoneNumber != nil {
      unlinked.append(SignInMethods.phone)
    } else if let refusal = edit.edited.refusal(ofFirstFactor: SignInMethods.phone) {
      throw refusal
    }
    if number.isEmpty { edit.removePhoneNumber() } else { edit.setPhoneNumber(number, now: now) }
  }

  fileprivate mutating func setPassword(_ password: AccountRevision.Password?, now: Timestamp) throws(Failure) {
    switch password {
    case .set(let hash):
      guard let email = after.email else { throw .passwordNeedsEmail(field: "password") }
      edit.setPassword(hash: hash, email: email, now: now)
      isNewPassword = true
    case .clear where before.passwordHash != nil:
      edit.removePassword()
      unlinked.append(SignInMethods.password)
    case .clear, nil: break
    }
    guard after.email != nil || after.passwordHash == nil else {
      throw Failure(
        .invalidField, field: "account.email",
        hint: "An account with a password needs an email address. Clear the password in the same call.")
    }
  }
}
