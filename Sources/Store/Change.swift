/// A unit of work: its writes are carried out in order, all or none. The first that fails decides the outcome.
package struct Change: Hashable, Sendable {
  package var writes: [Write]

  package init(_ writes: [Write] = []) { self.writes = writes }
}

/// Kept by reference: a use case gathers a handful, which are handed on and put into lists several times.
package indirect enum Write: Hashable, Sendable {
  /// Fails with `.conflict(.accountID)`, `.conflict(.email)` or `.conflict(.phoneNumber)`.
  case insertAccount(AccountRecord)
  /// Stores the record as version + 1 where the stored version still is `record.version`, else `.stale`. Unique keys as
  /// above. `lastSignInAt` only ever moves on: a touch, which raises no version, may have come in between.
  case updateAccount(AccountRecord)
  /// Raises the version, else `.stale`: guards a change of what hangs on the account, such as its identities.
  case guardAccount(id: String, version: Int64)
  /// Notes a sign-in, unless a later one is noted, without raising the version, so that parallel sign-ins of one person
  /// do not collide. `.stale` where the version is another by now, so that no session is opened by a password, an
  /// identity or an account that was changed, unlinked or disabled since it was looked at.
  case touchAccount(id: String, version: Int64, lastSignInAt: Timestamp)
  /// Raises nothing. `.stale` where the version is another: no answer shows an account as it was before a change that
  /// had ended when this one is carried out.
  case confirmAccount(id: String, version: Int64)
  /// Refuses the custom tokens from before this moment, shuts the account if asked to, and raises the version, whatever
  /// it is; `.stale` where the account is gone, or is to be shut and is shut already: of many that shut it, one did.
  /// For what must not be put off by whoever keeps the account changing.
  case cutOff(accountID: String, at: Timestamp, disabling: Bool)
  /// Fails with `.conflict(.email)` where an account has this address. Until this change is carried out nobody gets it:
  /// guards what was decided on an address that nobody has, and does not take it.
  case guardFreeEmail(String)
  /// Removes the account and everything that hangs on it: identities, factors, unlinks, sessions, pending rows. Its id
  /// is never given again: every later `insertAccount` of it fails with `.conflict(.accountID)`. `.stale` where the
  /// version is another, but for nil, which any will do for, or where the account is gone.
  case closeAccount(ClosedAccountRecord, version: Int64?)

  /// Fails with `.conflict(.identity)`.
  case insertIdentity(IdentityRecord)
  /// Replaces what the provider said of the person; key, account and `linkedAt` stay. `.stale` where it is gone.
  case updateIdentity(IdentityRecord)
  /// `.stale` where the account does not hold it.
  case deleteIdentity(IdentityKey, accountID: String)
  case rememberUnlink(UnlinkRecord)
  case forgetUnlink(accountID: String, IdentityKey)
  case insertFactor(FactorRecord)
  /// Replaces what is kept of the factor: its secret and its name. `.stale` where the account does not have it.
  case updateFactor(FactorRecord)
  /// `.stale` where the account does not have it.
  case deleteFactor(id: String, accountID: String)
  /// `.stale` where the account has a factor: behind the writes that delete those that were found, it has no others.
  case guardNoFactors(accountID: String)

  case insertSession(SessionRecord)
  /// Moves a session to its next refresh token where the current one still is `from` and the row is open, else
  /// `.stale`.
  case rotateSession(id: String, from: Digest, to: Digest, at: Timestamp, idleExpiresAt: Timestamp)
  /// Changes what the session's tokens say of its login, where the row is open; else `.stale`.
  case renameSession(id: String, signInProviderID: String, methods: [String], at: Timestamp)
  /// Does nothing to a session that is closed already or unknown.
  case closeSession(id: String, at: Timestamp, reason: String)
  /// Ends all sessions of the account, but for one.
  case closeSessions(accountID: String, except: String?, at: Timestamp, reason: String)
  /// Ends the sessions that began with this provider, but for one.
  case closeSessionsOf(accountID: String, beganWith: String, except: String?, at: Timestamp, reason: String)
  /// `.stale` unless this session is open at this moment: guards a change made on behalf of a session.
  case guardSession(id: String, at: Timestamp)

  /// Fails with `.limited` where the account, the caller or the table holds its maximum already.
  case insertPending(PendingRecord, limits: PendingLimits)
  /// Marks the row completed where it still has this version, is not completed and not expired, else `.stale`.
  case completePending(Digest, version: Int64, at: Timestamp, accountID: String, sessionID: String)
  /// Takes one attempt off the row, down to none.
  case countPendingAttempt(Digest)
  /// The same where the row still has this version and an attempt left, else `.stale`: of tries at once, none is
  /// answered before it is counted.
  case spendPendingAttempt(Digest, version: Int64)
  /// Replaces what the row holds where it still has this version and is not completed, else `.stale`.
  case resealPending(Digest, version: Int64, sealed: [UInt8])
  /// Removes the pending rows of the account, except for one row and for rows of the spared purposes.
  case deletePendings(accountID: String, except: Digest? = nil, sparing: [PendingPurpose] = [])
  /// Removes the pending rows of one purpose for one identity, whoever asked for them; where `createdAfter` is given,
  /// only those that are younger.
  case endPendings(PendingPurpose, IdentityKey, createdAfter: Timestamp? = nil)

  /// Fails with `.limited(.deliveries)` where so many wait to be sent already.
  case enqueueDelivery(DeliveryRecord, queueMax: Int)
  /// Never fails the change. Where a notice with the same merge key waits, that one stays and takes the later expiry.
  /// Past its limits the notice is dropped. The observer is notified of both.
  case enqueueNotice(DeliveryRecord, within: NoticeLimits)
  /// Takes one attempt, and sets when the next may be made. `.stale` where another has taken it, or the message is gone
  /// or buried: of several who would send it at once, one does.
  case claimDelivery(id: String, attempts: Int, nextAttemptAt: Timestamp)
  /// It was sent, or is of no use any more. Does nothing where it is gone.
  case removeDelivery(id: String)
  /// Gives it up: its contents go, what else is known of it stays until `keptUntil`. Does nothing where it is gone or
  /// buried.
  case buryDelivery(id: String, at: Timestamp, reason: String, keptUntil: Timestamp)

  /// Takes the place of a record that had expired when this one was created; before that, fails with
  /// `.conflict(.idempotency)`.
  case insertIdempotency(IdempotencyRecord)
  /// Fails with `.conflict(.spentToken)`.
  case spendToken(Digest, expiresAt: Timestamp)
  case appendAudit(AuditRecord)
  /// Fails with `.conflict(.signingKey)`.
  case insertSigningKey(SigningKeyRecord)
  /// `.stale` where there is a key that was not retired: of several replicas that make the first one, one does.
  case guardNoSigningKey
  /// `.stale` where it is retired already or unknown: of several replicas that replace a key, one does.
  case retireSigningKey(keyID: String, at: Timestamp)
  /// Removes the keys that were retired at this moment or before.
  case deleteSigningKeys(retiredBy: Timestamp)

  /// Counts one more under its key (`ThrottleRecord.counting`), however many do so at once; one that refuses blocked
  /// keys fails with `.throttled` while its key is blocked.
  case countThrottle(ThrottleCount)
  /// Forgets what was counted under the key. While the key is blocked, fails with `.throttled` unless it lifts blocks:
  /// an attempt that began before the block must not end it.
  case resetThrottle(Digest, ThrottleKind, at: Timestamp, liftsBlock: Bool = false)

  /// `.stale` where a session of the account was used at this moment or later.
  case guardIdle(accountID: String, since: Timestamp)
  /// An anonymous account that was used after all: `Query.idleAnonymous` finds it again once this moment is as long
  /// ago.
  case noteIdle(accountID: String, since: Timestamp)
  /// Nothing where a key of this id is kept: the id is derived from the key.
  case keepImportKey(ImportKeyRecord)
}

/// The most pending rows that may be held at once.
package struct PendingLimits: Hashable, Sendable {
  /// Of strangers' rows (`CountScope.stranger`), and as many again of the others.
  package var perAccountMax: Int
  /// For one purpose.
  package var perCallerMax: Int
  /// For one purpose.
  package var totalMax: Int

  package init(perAccountMax: Int, perCallerMax: Int, totalMax: Int) {
    self.perAccountMax = perAccountMax
    self.perCallerMax = perCallerMax
    self.totalMax = totalMax
  }
}

package enum UniqueKey: Hashable, Sendable {
  case accountID
  case email
  case phoneNumber
  case identity
  case idempotency
  case spentToken
  case signingKey
}

/// What is full.
package enum LimitedScope: Hashable, Sendable {
  // Pending rows of an account, of a caller for one purpose, and of all callers for one purpose.
  case account
  case caller
  case total
  /// The messages that wait to be sent.
  case deliveries
}

package enum Outcome: Hashable, Sendable {
  /// Durable.
  case committed
  /// A unique key is taken; nothing was written.
  case conflict(UniqueKey)
  /// A guard failed: what the decision was taken on has changed; nothing was written.
  case stale
  /// A limit of the table is reached; nothing was written.
  case limited(LimitedScope)
  /// What is counted came too often; nothing was written.
  case throttled(ThrottleKind, until: Timestamp)
  /// The call was cancelled before the change was taken up; nothing was written.
  case cancelled
}
