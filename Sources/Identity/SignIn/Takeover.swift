import Store

/// Section 3.3: a proved mailbox meets an account that never proved it.
struct Takeover: Sendable {
  /// What proves the mailbox.
  var assertion: Assertion
  var policy: Policy
  var now: Timestamp
  /// The row that the same call completes: it was made before, and is kept.
  var completing: Digest?

  private var providerID: String { assertion.identity.providerID }

  /// The mailbox's holder takes over an account that nobody proved: same id, and in one transaction everything goes
  /// that somebody else may have planted.
  /// - Parameter held: linked in the same step.
  func reclaim(_ owner: AccountState, linking held: Assertion? = nil) -> Opening {
    var edit = AccountEdit(owner)
    let revoked = edit.dropUnproved(now: now)
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
        .closeSessions(accountID: id, except: nil, at: now, reason: "reclaimed"),
        .deletePendings(accountID: id, except: completing),
      ],
      notes: notes, revokedProviderIDs: revoked)
  }

  /// The address leaves an account that never proved it, with what it names there, outstanding codes and changes of
  /// address included (check 7); all else stays with that account. Its second factor is not asked for: it guards the
  /// account's data, of which nothing moves.
  /// - Parameter opening: of the new account that has the address from now on.
  func claim(from owner: AccountState, opening: Opening) -> Opening {
    let detached = DetachedAddress(from: owner, provedBy: providerID, sparing: completing, now: now)
    var opening = opening
    opening.writes = detached.writes + opening.writes
    opening.detached = detached.state
    opening.notes.append(detached.note)
    return opening
  }
}

/// What taking an address from an account that never proved it does to that account.
struct DetachedAddress: Sendable {
  var writes: [Write]
  /// The account without it.
  var state: AccountState
  var note: AuditNote

  init(from owner: AccountState, provedBy providerID: String, sparing row: Digest? = nil, now: Timestamp) {
    var edit = AccountEdit(owner)
    edit.detachAddress()
    let id = owner.account.id
    let sessionsOver = [WaysIn.password, WaysIn.emailLink].map {
      Write.closeSessionsOf(accountID: id, beganWith: $0, except: nil, at: now, reason: "address claimed")
    }
    writes = edit.writes + sessionsOver + [.deletePendings(accountID: id, except: row)]
    state = edit.state
    note = AuditNote(.addressDetached, accountID: id, details: ["provider_id": providerID])
  }
}

extension Environment {
  /// Tells the person of the account that an address was claimed from, where it can be reached otherwise.
  func notices(ofDetached email: String, from state: AccountState, now: Timestamp) -> [Write] {
    let others = state.identities.filter { $0.tier >= .verified }.compactMap(\.email).filter { $0 != email }
    let values = ["email": email]
    let mails = notices(.addressDetached, to: state, others: Array(Set(others)).sorted(), values: values, now: now)
    guard let number = state.account.phoneNumber else { return mails }
    return mails + textNotices(.addressDetached, to: number, about: state.account.id, values: values, now: now)
  }
}
