import Store

/// What following a mailed link does to the address of an account (sections 3.5 and 6). `code` was opened already.
enum EmailDecision {
  enum Outcome: Hashable, Sendable {
    case refuse(Failure)
    /// With what the event says beside its type.
    case edit(AccountEdit, details: [String: String] = [:])
  }

  /// The first proof keeps the earlier ways in, since it is given inside a session of the account.
  static func verify(_ code: OpenedCode, _ caller: CallerSession, now: Timestamp) -> Outcome {
    guard caller.state.account.id == code.row.accountID else { return .refuse(otherAccount) }
    guard caller.state.account.email == code.row.email else { return .refuse(addressMoved) }
    var edit = AccountEdit(caller.state)
    edit.prove(by: .confirmation, now: now)
    return .edit(edit)
  }

  /// - Parameter owner: of the new address, by now.
  static func change(_ code: OpenedCode, _ caller: CallerSession, owner: AccountState?, now: Timestamp) -> Outcome {
    guard caller.state.account.id == code.row.accountID else { return .refuse(otherAccount) }
    guard let email = code.row.email else { return .refuse(addressMoved) }
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

  /// The way back: whoever changed the address may be a thief, so what came to the account since then goes as well.
  static func revert(_ code: OpenedCode, _ state: AccountState?, owner: AccountState?, now: Timestamp) -> Outcome {
    guard let state, let email = code.row.email else { return .refuse(addressMoved) }
    if state.account.disabled { return .refuse(.userIsDisabled) }
    // One that nobody proved is detached: a thief could take the address that he set free by merely naming it.
    if let owner, owner.account.id != state.account.id, owner.account.emailProved { return .refuse(.addressIsTaken) }
    var edit = AccountEdit(state)
    edit.changeAddress(to: email, now: now)
    let revoked = edit.dropWaysIn(addedSince: code.row.createdAt)
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
    .userMismatch, field: "id_token", hint: "The link is for another account than the one that is signed in.")
  private static let addressMoved = Failure.wrongSentCode("the account has another address by now", field: "code")
}

extension Failure {
  static let addressIsTaken = Failure(.emailAlreadyInUse, field: "code", hint: "Another account has this address.")
}

extension AccountEdit {
  /// To one that is proved by this very call. What a former address left in doubt stays so.
  mutating func changeAddress(to email: String, now: Timestamp) {
    edited.account.email = email
    noteProof(at: now)
    edited.account.emailSource = WaysIn.password
    edited.account.emailProof = .confirmation
    edited.account.emailProofProviderID = nil
    edited.account.anonymous = false
  }

  /// - Returns: the providers of what went.
  mutating func dropWaysIn(addedSince moment: Timestamp) -> [String] {
    var dropped: [String] = []
    if let setAt = edited.account.passwordSetAt, setAt >= moment {
      removePassword()
      dropped.append(WaysIn.password)
    }
    if let setAt = edited.account.phoneNumberSetAt, setAt >= moment {
      removePhoneNumber()
      dropped.append(WaysIn.phone)
    }
    return dropped + dropIdentities { $0.linkedAt >= moment }
  }

  /// Ways in that came while nobody had proved the address, but for identities that prove it themselves.
  mutating func dropWaysIn(addedBefore moment: Timestamp) -> [String] {
    var dropped: [String] = []
    if let setAt = edited.account.phoneNumberSetAt, setAt < moment {
      removePhoneNumber()
      dropped.append(WaysIn.phone)
    }
    let email = edited.account.email
    return dropped + dropIdentities { $0.linkedAt < moment && !($0.email == email && $0.tier >= .verified) }
  }

  /// A factor of the thief's would keep the owner out.
  mutating func dropFactors(addedSince moment: Timestamp) -> [FactorRecord] {
    let gone = edited.factors.filter { $0.enrolledAt >= moment }
    edited.factors.removeAll { $0.enrolledAt >= moment }
    hanging += gone.map { .deleteFactor(id: $0.id, accountID: $0.accountID) }
    return gone
  }

  private mutating func dropIdentities(where isDropped: (IdentityRecord) -> Bool) -> [String] {
    let gone = edited.identities.filter(isDropped)
    edited.identities.removeAll(where: isDropped)
    hanging += gone.map { .deleteIdentity($0.key, accountID: $0.accountID) }
    return gone.map(\.key.providerID)
  }
}
