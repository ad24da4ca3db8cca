import Store

/// Takeover of an email address from an account that never verified it (section 3.3).
struct Takeover: Sendable {
  /// The assertion that proves control of the mailbox.
  var assertion: Assertion
  var policy: Policy
  var now: Timestamp
  /// The older row that the same call completes. The takeover does not delete it.
  var completing: Digest?

  private var providerID: String { assertion.identity.providerID }

  /// Gives an account with an unverified email address to the holder of the mailbox.
  ///
  /// The account keeps its id. The same transaction removes everything that an attacker may have planted.
  /// - Parameter held: a pending assertion to link in the same step.
  func reclaim(_ owner: AccountState, linking held: Assertion? = nil) -> Opening {
    var edit = AccountEdit(owner)
    let revoked = edit.dropUnverified(now: now)
    edit.link(assertion, policy: policy, now: now)
    let id = owner.account.id
    let details = ["provider_id": providerID, "revoked_provider_ids": revoked.joined(separator: ",")]
      .merging(edit.keptByReclaim) { $1 }
    var notes = [AuditNote(.reclaimed, accountID: id, details: details)]
    if let held {
      edit.link(held, policy: policy, now: now)
      notes.append(.linked(held.identity.providerID, to: id, proof: "sign-in"))
    }
    edit.noteSignIn(at: now, upgradedHash: nil)
    return Opening(
      state: edit.state,
      writes: edit.writes + [
        .session(.closeAll(accountID: id, except: nil, at: now, reason: .reclaimed)),
        .pending(.deleteAll(accountID: id, except: completing)),
      ],
      notes: notes, revokedProviderIDs: revoked)
  }

  /// Moves an email address from an account that never verified it to a new account.
  ///
  /// The old account also loses the sign-in methods that depend on the address, outstanding codes and pending changes
  /// of the address (check 7). It keeps everything else. No second factor is required: it protects the account's data,
  /// and none of it moves.
  /// - Parameter opening: the opening of the new account, which gets the address.
  func claim(from owner: AccountState, opening: Opening) -> Opening {
    let detached = DetachedAddress(from: owner, verifiedBy: providerID, sparing: completing, now: now)
    var opening = opening
    opening.writes = detached.writes + opening.writes
    opening.detached = detached.state
    opening.notes.append(detached.note)
    return opening
  }
}

/// The effect of a takeover on the account that never verified the email address.
struct DetachedAddress: Sendable {
  var writes: [Write]
  /// The account without the address.
  var state: AccountState
  var note: AuditNote

  init(from owner: AccountState, verifiedBy providerID: String, sparing row: Digest? = nil, now: Timestamp) {
    var edit = AccountEdit(owner)
    edit.detachAddress()
    let id = owner.account.id
    let sessionsOver = [SignInMethods.password, SignInMethods.emailLink].map {
      Write.session(.closeBegun(accountID: id, beganWith: $0, except: nil, at: now, reason: .addressClaimed))
    }
    writes = edit.writes + sessionsOver + [.pending(.deleteAll(accountID: id, except: row))]
    state = edit.state
    note = AuditNote(.addressDetached, accountID: id, details: ["provider_id": providerID])
  }
}

extension Environment {
  /// Notifies the user of an account that lost its email address to a claim, at other verified addresses and by phone.
  func notices(ofDetached email: String, from state: AccountState, now: Timestamp) -> [Write] {
    let others = state.identities.filter { $0.tier >= .verified }.compactMap(\.email).filter { $0 != email }
    let values = ["email": email]
    let mails = notices(.addressDetached, to: state, others: Array(Set(others)).sorted(), values: values, now: now)
    guard let number = state.account.phoneNumber else { return mails }
    return mails + textNotices(.addressDetached, to: number, about: state.account.id, values: values, now: now)
  }
}
