/// A unit of work. Its writes are applied in order, all or none. The first write that fails decides the outcome.
package struct Change: Hashable, Sendable {
  package var writes: [Write]

  package init(_ writes: [Write] = []) { self.writes = writes }
}

/// One write of a change.
///
/// Indirect, so that copies are cheap: a use case collects a handful of writes, and passes and stores them several
/// times.
package indirect enum Write: Hashable, Sendable {
  /// Fails with `.conflict(.accountID)`, `.conflict(.email)` or `.conflict(.phoneNumber)`.
  case insertAccount(AccountRecord)
  /// Stores the record as version + 1 if the stored version still is `record.version`, else `.stale`. Unique keys fail
  /// as above. `lastSignInAt` never moves back: a touch, which does not raise the version, may have come in between.
  case updateAccount(AccountRecord)
  /// Raises the version if it still is `version`, else `.stale`. Guards a change of the account's dependents, such as
  /// its identities.
  case guardAccount(id: String, version: Int64)
  /// Records a sign-in, unless a later one is recorded. Does not raise the version, so that parallel sign-ins of one
  /// user do not conflict.
  ///
  /// `.stale` if the version differs. A password, identity or account that was changed, unlinked or disabled since the
  /// lookup then opens no session.
  case touchAccount(id: String, version: Int64, lastSignInAt: Timestamp)
  /// Checks the version without raising it. `.stale` if it differs: no response shows an account as it was before a
  /// change that was complete when this one is applied.
  case confirmAccount(id: String, version: Int64)
  /// Rejects custom tokens issued before this time, disables the account on request, and raises the version.
  ///
  /// `.stale` if the account is gone, or must be disabled and is disabled already: of several concurrent changes that
  /// disable it, one succeeds. It accepts any version, because a revocation must not fail while another client keeps
  /// changing the account.
  case cutOff(accountID: String, at: Timestamp, disabling: Bool)
  /// Fails with `.conflict(.email)` if an account has this address. No account can take the address before this change
  /// is applied. Guards a decision based on a free address that the change itself does not take.
  case guardFreeEmail(String)
  /// Removes the account and its dependents: identities, factors, unlinks, sessions, pending rows.
  ///
  /// The id is never assigned again: every later `insertAccount` with it fails with `.conflict(.accountID)`. `.stale`
  /// if the account is gone or the version differs. A nil version matches any version.
  case closeAccount(ClosedAccountRecord, version: Int64?)

  /// Fails with `.conflict(.identity)`.
  case insertIdentity(IdentityRecord)
  /// Replaces the profile data from the provider. Key, account and `linkedAt` stay. `.stale` if the identity is gone.
  case updateIdentity(IdentityRecord)
  /// `.stale` if the account does not have the identity.
  case deleteIdentity(IdentityKey, accountID: String)
  case rememberUnlink(UnlinkRecord)
  case forgetUnlink(accountID: String, IdentityKey)
  case insertFactor(FactorRecord)
  /// Replaces the factor's secret and name. `.stale` if the account does not have the factor.
  case updateFactor(FactorRecord)
  /// `.stale` if the account does not have the factor.
  case deleteFactor(id: String, accountID: String)
  /// `.stale` if the account has a factor. After writes that delete the known factors, this proves that no others
  /// exist.
  case guardNoFactors(accountID: String)

  case insertSession(SessionRecord)
  /// Rotates the refresh token if the current one still is `from` and the row is open, else `.stale`.
  case rotateSession(id: String, from: Digest, to: Digest, at: Timestamp, idleExpiresAt: Timestamp)
  /// Changes the sign-in method in the session's tokens if the row is open, else `.stale`.
  case renameSession(id: String, signInProviderID: String, methods: [String], at: Timestamp)
  /// Has no effect if the session is closed or unknown.
  case closeSession(id: String, at: Timestamp, reason: String)
  /// Closes all sessions of the account except one.
  case closeSessions(accountID: String, except: String?, at: Timestamp, reason: String)
  /// Closes the account's sessions that began with this provider, except one.
  case closeSessionsOf(accountID: String, beganWith: String, except: String?, at: Timestamp, reason: String)
  /// `.stale` unless this session is open at this time. Guards a change made on behalf of a session.
  case guardSession(id: String, at: Timestamp)

  /// Fails with `.limited` if the account, the caller or the table has reached its limit.
  case insertPending(PendingRecord, limits: PendingLimits)
  /// Marks the row completed if it still has this version, is not completed and has not expired, else `.stale`.
  case completePending(Digest, version: Int64, at: Timestamp, accountID: String, sessionID: String)
  /// Subtracts one attempt, down to 0.
  case countPendingAttempt(Digest)
  /// Subtracts one attempt if the row still has this version and an attempt left, else `.stale`. A response to one of
  /// several parallel attempts thus never precedes its count.
  case spendPendingAttempt(Digest, version: Int64)
  /// Replaces the sealed content if the row still has this version and is not completed, else `.stale`.
  case resealPending(Digest, version: Int64, sealed: [UInt8])
  /// Removes the account's pending rows, except one row and the rows of the spared purposes.
  case deletePendings(accountID: String, except: Digest? = nil, sparing: [PendingPurpose] = [])
  /// Removes the pending rows of one purpose for one identity, from all callers. With `createdAfter`, removes only the
  /// rows created later.
  case endPendings(PendingPurpose, IdentityKey, createdAfter: Timestamp? = nil)

  /// Fails with `.limited(.deliveries)` if `queueMax` messages wait already.
  case enqueueDelivery(DeliveryRecord, queueMax: Int)
  /// Never fails the change. If a notice with the same merge key waits, it stays and takes the later expiry. A notice
  /// beyond the limits is dropped. The observer is notified of both cases.
  case enqueueNotice(DeliveryRecord, within: NoticeLimits)
  /// Claims one attempt and sets the time of the next. `.stale` if another process has claimed it, or the message is
  /// gone or given up. Of several concurrent senders, only one sends.
  case claimDelivery(id: String, attempts: Int, nextAttemptAt: Timestamp)
  /// Removes a message that was sent or is obsolete. Has no effect if the message is gone.
  case removeDelivery(id: String)
  /// Gives the message up. Its content is deleted, the rest stays until `keptUntil`. Has no effect if the message is
  /// gone or given up already.
  case buryDelivery(id: String, at: Timestamp, reason: String, keptUntil: Timestamp)

  /// Replaces a record that had expired when this one was created. Fails with `.conflict(.idempotency)` if the record
  /// has not expired.
  case insertIdempotency(IdempotencyRecord)
  /// Fails with `.conflict(.spentToken)`.
  case spendToken(Digest, expiresAt: Timestamp)
  case appendAudit(AuditRecord)
  /// Fails with `.conflict(.signingKey)`.
  case insertSigningKey(SigningKeyRecord)
  /// `.stale` if an unretired key exists: of several replicas that create the first key, one succeeds.
  case guardNoSigningKey
  /// `.stale` if the key is retired or unknown: of several replicas that replace a key, one succeeds.
  case retireSigningKey(keyID: String, at: Timestamp)
  /// Removes the keys retired at or before this time.
  case deleteSigningKeys(retiredBy: Timestamp)

  /// Adds one to the count of its key (`ThrottleRecord.counting`), exactly even under concurrency. With
  /// `refusesBlocked`, fails with `.throttled` while the key is blocked.
  case countThrottle(ThrottleCount)
  /// Deletes the count of the key. While the key is blocked, fails with `.throttled` unless `liftsBlock` is set. An
  /// attempt that began before the block must not end it.
  case resetThrottle(Digest, ThrottleKind, at: Timestamp, liftsBlock: Bool = false)

  /// `.stale` if a session of the account was used at or after this time.
  case guardIdle(accountID: String, since: Timestamp)
  /// Records a use of an anonymous account. `Query.idleAnonymous` finds the account again only once this time is old
  /// enough.
  case noteIdle(accountID: String, since: Timestamp)
  /// Has no effect if a key with this id exists: the id is derived from the key.
  case keepImportKey(ImportKeyRecord)
}

/// Limits on the number of pending rows.
package struct PendingLimits: Hashable, Sendable {
  /// The limit for rows from unverified clients (`CountScope.unknown`), and separately for all other rows.
  package var perAccountMax: Int
  /// The limit of one caller for one purpose.
  package var perCallerMax: Int
  /// The limit of all callers together for one purpose.
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

/// The scope that has reached its limit.
package enum LimitedScope: Hashable, Sendable {
  // The pending rows of an account, of a caller for one purpose, and of all callers for one purpose.
  case account
  case caller
  case total
  /// The messages that wait to be sent.
  case deliveries
}

package enum Outcome: Hashable, Sendable {
  /// Durable.
  case committed
  /// A unique key exists already. Nothing was written.
  case conflict(UniqueKey)
  /// A guard failed: the data on which the decision is based has changed. Nothing was written.
  case stale
  /// A limit is reached. Nothing was written.
  case limited(LimitedScope)
  /// A throttle key is blocked. Nothing was written.
  case throttled(ThrottleKind, until: Timestamp)
  /// The call was cancelled before the change was applied. Nothing was written.
  case cancelled
}
