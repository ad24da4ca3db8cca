import Store

/// Section 5, in the order of its sentences: what cannot be done at all is said before a new login is asked for.
enum UnlinkDecision: Hashable, Sendable {
  case refuse(Failure)
  case unlink(AccountEdit)

  static func decide(
    _ providerID: String, _ caller: CallerSession, policy: Policy, now: Timestamp
  ) -> UnlinkDecision {
    var edit = AccountEdit(caller.state)
    do {
      try edit.removeWayIn(providerID, keepsAddress: false, policy: policy, now: now)
      if WaysIn(edit.state, policy).isEmpty { return .refuse(lastMethod(providerID, policy)) }
      try SessionCheck.requireRecentLogin(caller, for: .unlink, policy: policy, now: now)
      try SessionCheck.requireSecondFactor(caller)
    } catch {
      return .refuse(error)
    }
    return .unlink(edit)
  }

  /// Names what would make the unlink possible (check 76): every enabled way in but the one that is to go.
  private static func lastMethod(_ providerID: String, _ policy: Policy) -> Failure {
    var addable = policy.passwordEnabled ? [WaysIn.password] : []
    if policy.emailLinkEnabled { addable.append(WaysIn.emailLink) }
    if policy.phoneEnabled { addable.append(WaysIn.phone) }
    addable += policy.enabledProviderIDs.sorted()
    addable.removeAll { $0 == providerID }
    return Failure(
      .lastSignInMethod, hint: "Add another way of signing in first.",
      metadata: ["addable_methods": addable.joined(separator: ",")])
  }
}

extension AccountEdit {
  /// The same for the account's person and for an administrator.
  mutating func removeWayIn(
    _ providerID: String, keepsAddress: Bool, policy: Policy, now: Timestamp
  ) throws(Failure) {
    let account = edited.account
    if providerID == WaysIn.password, account.passwordHash != nil {
      removePassword()
    } else if providerID == WaysIn.emailLink, account.emailLink {
      removeEmailLink()
    } else if providerID == WaysIn.phone, account.phoneNumber != nil {
      removePhoneNumber()
    } else if let identity = edited.identity(of: providerID) {
      unlink(identity, keepsAddress: keepsAddress, policy: policy, now: now)
    } else {
      throw Failure(.noSuchProvider, field: "provider_id", hint: "It is not linked to this account.")
    }
  }
}
