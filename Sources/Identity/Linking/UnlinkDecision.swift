import Store

/// Decision about an unlink, in the order of section 5. Reports what is impossible before it asks for a new login.
enum UnlinkDecision: Hashable, Sendable {
  case refuse(Failure)
  case unlink(AccountEdit)

  /// - Parameter subject: which identity of the provider; empty: the only one.
  static func decide(
    _ providerID: String, subject: String = "", _ caller: CallerSession, policy: Policy, now: Timestamp
  ) -> UnlinkDecision {
    var edit = AccountEdit(caller.state)
    do throws(Failure) {
      guard providerID != SignInMethods.passkey else { throw Failure.passkeysAreRemovedByID }
      try edit.removeMethod(providerID, subject: subject, keepsAddress: false, policy: policy, now: now)
      if SignInMethods(edit.state, policy).isEmpty { return .refuse(lastMethod(providerID, policy)) }
      try SessionCheck.requireRecentLogin(caller, for: .unlink, policy: policy, now: now)
      try SessionCheck.requireSecondFactor(caller)
    } catch {
      return .refuse(error)
    }
    return .unlink(edit)
  }

  /// Returns the failure, which names what would make the unlink possible (check 76): every enabled method except the
  /// one to remove.
  static func lastMethod(_ providerID: String, _ policy: Policy) -> Failure {
    var addable = policy.passwordEnabled ? [SignInMethods.password] : []
    if policy.emailLinkEnabled { addable.append(SignInMethods.emailLink) }
    if policy.emailCodes != .off { addable.append(SignInMethods.emailCode) }
    if policy.phoneEnabled { addable.append(SignInMethods.phone) }
    addable += policy.enabledProviderIDs.sorted()
    let removed = providerID == SignInMethods.emailLink ? SignInMethods.mailbox : [providerID]
    // Another identity of the provider can take the place of one.
    let isAddable = policy.identitiesPerProviderMax > 1 && policy.enabledProviderIDs.contains(providerID)
    if !isAddable { addable.removeAll(where: removed.contains) }
    // Another passkey can take the place of one.
    if policy.passkeyEnabled { addable.append(SignInMethods.passkey) }
    return Failure(
      .lastSignInMethod, hint: "This is the account's last sign-in method. Link another one first.",
      metadata: ["addable_methods": addable.joined(separator: ",")])
  }
}

extension AccountEdit {
  /// Removes a sign-in method, for the user or for an administrator.
  ///
  /// - Parameter subject: which identity of the provider; empty if the account has only one, or none. Empty for
  ///   passkeys: all of them.
  mutating func removeMethod(
    _ providerID: String, subject: String, keepsAddress: Bool, policy: Policy, now: Timestamp
  ) throws(Failure) {
    let account = edited.account
    // The account states its address and number as the subjects of its own methods.
    let subject = account.ownSubject(of: providerID) == subject ? "" : subject
    if providerID == SignInMethods.passkey {
      let removed = edited.passkeys.filter { subject.isEmpty || $0.key.subject == subject }
      guard !removed.isEmpty else {
        throw Failure(.noSuchProvider, field: "provider_id", hint: "This provider is not linked to the account.")
      }
      for passkey in removed { remove(passkey: passkey) }
      return
    }
    let identity = try edited.identity(of: providerID, subject: subject)
    if let identity {
      unlink(identity, keepsAddress: keepsAddress, policy: policy, now: now)
    } else if !subject.isEmpty {
      throw Failure(.noSuchProvider, field: "subject", hint: "This identity is not linked to the account.")
    } else if providerID == SignInMethods.password, account.passwordHash != nil {
      removePassword()
    } else if providerID == SignInMethods.emailLink, account.emailLink {
      removeEmailLink()
    } else if providerID == SignInMethods.phone, account.phoneNumber != nil {
      removePhoneNumber()
    } else {
      throw Failure(.noSuchProvider, field: "provider_id", hint: "This provider is not linked to the account.")
    }
  }
}

extension AccountRecord {
  /// The subject of one of the service's own methods; nil: the account has none, or it is a provider's.
  fileprivate func ownSubject(of providerID: String) -> String? {
    switch providerID {
    case SignInMethods.password, SignInMethods.emailLink: email
    case SignInMethods.phone: phoneNumber
    default: nil
    }
  }
}
