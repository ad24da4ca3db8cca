import Encodings
package import Store

/// Security-relevant changes that write an audit row, in the transaction of the change.
package enum AuditEvent: String, Sendable, CaseIterable {
  case accountCreated = "ACCOUNT_CREATED"
  case linked = "LINKED"
  case unlinked = "UNLINKED"
  case reclaimed = "RECLAIMED"
  case addressDetached = "ADDRESS_DETACHED"
  /// A sign-in to this account asserted an email address that another account owns. Neither account changed (S1).
  case addressOwnedElsewhere = "ADDRESS_OWNED_ELSEWHERE"
  case deleted = "DELETED"
  /// A credential opened a session. Other events of the same sign-in have their own rows.
  case signedIn = "SIGNED_IN"
  case signedOut = "SIGNED_OUT"
  case reauthenticated = "REAUTHENTICATED"
  case refreshReplayed = "REFRESH_REPLAYED"
  /// The user or an administrator ended every session of the account.
  case sessionsRevoked = "SESSIONS_REVOKED"
  case factorEnrolled = "FACTOR_ENROLLED"
  case factorWithdrawn = "FACTOR_WITHDRAWN"
  /// The display name or the photo changed.
  case profileChanged = "PROFILE_CHANGED"
  case emailChanged = "EMAIL_CHANGED"
  case passwordChanged = "PASSWORD_CHANGED"
  /// Written for the survivor. Names the account that was closed.
  case merged = "MERGED"
  /// The server removed an unused anonymous account.
  case idleRemoved = "IDLE_REMOVED"
  case disabled = "DISABLED"
  case enabled = "ENABLED"
  case customClaimsChanged = "CUSTOM_CLAIMS_CHANGED"
  /// An administrator created a token that can sign in as this account, or create it.
  case customTokenCreated = "CUSTOM_TOKEN_CREATED"
  case imported = "ACCOUNT_IMPORTED"
  /// An administrator exported all accounts, including their password hashes.
  case exported = "ACCOUNTS_EXPORTED"
  /// The server copied the whole store into a file on its disk.
  case backedUp = "BACKUP_MADE"
  case emailVerified = "EMAIL_VERIFIED"
  case emailReverted = "EMAIL_REVERTED"
  case passwordReset = "PASSWORD_RESET"
  case emailUnverified = "EMAIL_UNVERIFIED"
  /// An administrator created a link that the service did not email.
  case emailLinkCreated = "EMAIL_LINK_CREATED"
  /// An administrator freed the id of a removed account.
  case forgotten = "ACCOUNT_FORGOTTEN"
  /// An administrator exported everything about one account.
  case accountExported = "ACCOUNT_EXPORTED"
  /// A new signing key was published.
  case signingKeyRotated = "SIGNING_KEY_ROTATED"
  /// An administrator removed a signing key before its end.
  case signingKeyRevoked = "SIGNING_KEY_REVOKED"
  /// An administrator ended the blocks of a user, whose address may have no account.
  case unlocked = "UNLOCKED"
  case messageResent = "MESSAGE_RESENT"
  /// A hook of the operator refused a call.
  case hookDenied = "HOOK_DENIED"
  /// A hook of the operator changed an account or a session that a call opened.
  case hookChanged = "HOOK_CHANGED"
  /// A user signed in with a password of the operator's list.
  case passwordCompromised = "PASSWORD_COMPROMISED"
  /// An administrator invited a user by email.
  case invited = "INVITED"
  case sessionCookieCreated = "SESSION_COOKIE_CREATED"
  case passkeyRenamed = "PASSKEY_RENAMED"
  /// The sign count of a passkey did not rise.
  case passkeyCloneSuspected = "PASSKEY_CLONE_SUSPECTED"
  /// A provider revoked one of its tokens for the user, also of an account that was just deleted.
  case providerTokenRevoked = "PROVIDER_TOKEN_REVOKED"
  /// An identity got the subject of an application's new team.
  case identityTransferred = "IDENTITY_TRANSFERRED"
  /// An administrator stored by what the new team's tokens identify a user.
  case transferSubjectSet = "TRANSFER_SUBJECT_SET"
}

/// Audit entry that a decision requests. `Environment.audit` adds its id, time and caller.
package struct AuditNote: Hashable, Sendable {
  package var event: AuditEvent
  package var accountID: String
  /// Names and values. They contain no secrets.
  package var details: [String: String]

  /// Detail that names the human for whom the caller acts.
  static let actor = "actor"

  package init(_ event: AuditEvent, accountID: String, details: [String: String] = [:]) {
    self.event = event
    self.accountID = accountID
    self.details = details
  }

  /// Returns the details in order, with those of the call that writes them.
  func members(of call: CallFacts) -> [(key: String, value: String)] {
    var all = details
    if !call.actor.isEmpty { all[AuditNote.actor] = call.actor }
    return all.sorted { $0.key < $1.key } + call.origin
  }

  /// Returns the note for a sign-in method that a sign-in added.
  static func linked(_ providerID: String, to accountID: String, proof: String) -> AuditNote {
    AuditNote(.linked, accountID: accountID, details: ["provider_id": providerID, "proof": proof])
  }
}

extension Environment {
  package func audit(_ note: AuditNote, call: CallFacts, now: Timestamp) -> Write {
    call.notes?.concerns(note.accountID)
    let details = AuditJSON.object(inOrder: note.members(of: call))
    return audit(note.event, accountID: note.accountID, details, call.caller, now)
  }

  func audit(_ note: AuditNote, caller: CallerName, now: Timestamp) -> Write {
    audit(note.event, accountID: note.accountID, AuditJSON.object(note.details), caller, now)
  }

  /// Returns the row for a session that a credential opened. Uses no dictionary, because most rows are of this kind.
  func audit(_ event: AuditEvent, opened session: SessionRecord, call: CallFacts, now: Timestamp) -> Write {
    call.notes?.opened(for: session.accountID, by: session.signInProviderID)
    var details = [(key: "provider_id", value: session.signInProviderID), (key: "session_id", value: session.id)]
    if !call.actor.isEmpty { details.insert((key: AuditNote.actor, value: call.actor), at: 0) }
    details += call.origin
    return audit(event, accountID: session.accountID, AuditJSON.object(inOrder: details), call.caller, now)
  }

  private func audit(
    _ event: AuditEvent, accountID: String, _ detailsJSON: String, _ caller: CallerName, _ now: Timestamp
  ) -> Write {
    .record(.appendAudit(
      AuditRecord(
        id: ids.audit(at: now), at: now, accountID: accountID, event: event.rawValue, caller: caller,
        detailsJSON: detailsJSON)))
  }
}

/// Minimal JSON for audit rows: one flat object of strings, with its names in order.
enum AuditJSON {
  static func object(_ details: [String: String]) -> String { object(inOrder: details.sorted { $0.key < $1.key }) }

  static func object(inOrder details: [(key: String, value: String)]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(64 * details.count + 2)
    text.append(UInt8(ascii: "{"))
    for (name, value) in details {
      if text.count > 1 { text.append(UInt8(ascii: ",")) }
      JSONText.append(name, to: &text)
      text.append(UInt8(ascii: ":"))
      JSONText.append(value, to: &text)
    }
    text.append(UInt8(ascii: "}"))
    return String(decoding: text, as: UTF8.self)
  }
}
