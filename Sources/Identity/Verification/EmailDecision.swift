import Store

/// Decisions about an account's email address after a click on an emailed link (sections 3.5 and 6).
enum EmailDecision {
  enum Outcome: Hashable, Sendable {
    case refuse(Failure)
    /// `details` are the details of the audit event.
    case edit(AccountEdit, details: [String: String] = [:])
  }

  /// Decides a verification. Earlier sign-in methods stay, because the first proof is made in a session of the account.
  static func verify(_ code: OpenedCode, _ caller: CallerSession, now: Timestamp) -> Outcome {
    guard caller.state.account.id == code.row.accountID else { return .refuse(otherAccount) }
    guard caller.state.account.email == code.row.email else { return .refuse(addressMoved(code)) }
    var edit = AccountEdit(caller.state)
    edit.verify(by: .confirmation, now: now)
    return .edit(edit)
  }

  /// Decides an email change.
  /// - Parameter owner: the current owner of the new address.
  static func change(_ code: OpenedCode, _ caller: CallerSession, owner: AccountState?, now: Timestamp) -> Outcome {
    guard caller.state.account.id == code.row.accountID else { return .refuse(otherAccount) }
    guard let email = code.row.email else { return .refuse(addressMoved(code)) }
    do {
      try SessionCheck.requireSecondFactor(caller)
    } catch {
      return .refuse(error)
    }
    if let owner, owner.account.id != caller.state.account.id { return .refuse(.addressIsTaken) }
    var edit = AccountEdit(caller.state)
    edit.changeAddress(to: email, now: now)
    edit.edited.account.tokensValidAfter = now
    return .edit(edit)
  }

  /// Decides the reversal of an email change. The change may be an attacker's, so sign-in methods and factors that were
  /// added since go too.
  static func revert(_ code: OpenedCode, _ state: AccountState?, owner: AccountState?, now: Timestamp) -> Outcome {
    guard let state, let email = code.row.email else { return .refuse(addressMoved(code)) }
    if state.account.disabled { return .refuse(.userIsDisabled) }
    // An unverified owner loses the address. Otherwise an attacker could block the reversal by registering with it.
    if let owner, owner.account.id != state.account.id, owner.account.emailVerified { return .refuse(.addressIsTaken) }
    var edit = AccountEdit(state)
    edit.changeAddress(to: email, now: now)
    let revoked = edit.dropMethods(addedSince: code.row.createdAt)
    let factors = edit.dropFactors(addedSince: code.row.createdAt)
    edit.edited.account.tokensValidAfter = now
    let details = [
      "revoked_provider_ids": revoked.joined(separator: ","),
      "revoked_factor_ids": factors.map(\.id).joined(separator: ","),
      "revoked_factor_kinds": factors.map(\.kind.rawValue).joined(separator: ","),
    ]
    return .edit(edit, details: details)
  }

  private static let otherAccount = Failure(
    .userMismatch, field: "id_token", hint: "The link is for another account; sign in to that account first.")

  private static func addressMoved(_ code: OpenedCode) -> Failure {
    .wrongSentCode("the account now has another email address", code.kind, field: "code")
  }
}

extension Failure {
  static let addressIsTaken = Failure(.emailAlreadyInUse, field: "code", hint: "The email address is already in use.")
}

extension AccountEdit {
  /// Changes the email address to one that this call verifies. Sign-in methods that a former address left in doubt stay
  /// in doubt.
  mutating func changeAddress(to email: String, now: Timestamp) {
    edited.account.emailAddress = EmailAddress(
      email, source: SignInMethods.password, verification: .confirmation)
    noteVerification(at: now)
    edited.account.anonymous = false
  }

  /// Removes the sign-in methods that were added since a time.
  /// - Returns: the providers of the removed methods.
  mutating func dropMethods(addedSince moment: Timestamp) -> [String] {
    var dropped: [String] = []
    if let setAt = edited.account.passwordSetAt, setAt >= moment {
      removePassword()
      dropped.append(SignInMethods.password)
    }
    if let setAt = edited.account.phoneNumberSetAt, setAt >= moment {
      removePhoneNumber()
      dropped.append(SignInMethods.phone)
    }
    return dropped + dropIdentities { $0.linkedAt >= moment }
  }

  /// Removes the sign-in methods that were added before the email address was verified, except identities that verify
  /// it themselves.
  mutating func dropMethods(addedBefore moment: Timestamp) -> [String] {
    var dropped: [String] = []
    if let setAt = edited.account.phoneNumberSetAt, setAt < moment {
      removePhoneNumber()
      dropped.append(SignInMethods.phone)
    }
    let email = edited.account.email
    return dropped + dropIdentities { $0.linkedAt < moment && !($0.email == email && $0.tier >= .verified) }
  }

  /// Removes the factors that were added since a time. An attacker's factor would lock out the owner.
  mutating func dropFactors(addedSince moment: Timestamp) -> [FactorRecord] {
    let gone = edited.factors.filter { $0.enrolledAt >= moment }
    edited.factors.removeAll { $0.enrolledAt >= moment }
    dependent += gone.map { .factor(.delete(id: $0.id, accountID: $0.accountID)) }
    return gone
  }

  private mutating func dropIdentities(where isDropped: (IdentityRecord) -> Bool) -> [String] {
    let gone = edited.identities.filter(isDropped)
    edited.identities.removeAll(where: isDropped)
    dependent += gone.map { .identity(.delete($0.key, accountID: $0.accountID)) }
    // One name for several passkeys.
    var names: [String] = []
    for name in gone.map(\.key.providerID) where !names.contains(name) { names.append(name) }
    return names
  }
}
