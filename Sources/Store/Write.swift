/// One write of a change, grouped by what it changes.
///
/// Every backend, lock rule and cache switches over the groups without a default. A new write does not compile before
/// each of them handles it. The groups are indirect, so that copies are cheap: a use case collects a handful of writes,
/// and passes and stores them several times.
package enum Write: Hashable, Sendable {
  case account(AccountWrite)
  case identity(IdentityWrite)
  case unlink(UnlinkWrite)
  case factor(FactorWrite)
  case session(SessionWrite)
  case pending(PendingWrite)
  case delivery(DeliveryWrite)
  case throttle(ThrottleWrite)
  case signingKey(SigningKeyWrite)
  case record(RecordWrite)
  case failure(FailureWrite)
}

package indirect enum AccountWrite: Hashable, Sendable {
  /// Fails with `.conflict(.accountID)`, `.conflict(.email)` or `.conflict(.phoneNumber)`. A freed id of a removed
  /// account is no conflict if `tokensValidAfter` is not before the time at which it was freed.
  case insert(AccountRecord)
  /// Stores the record as version + 1 if the stored version still is `record.version`, else `.stale`. Unique keys fail
  /// as above. `lastSignInAt` never moves back: a touch, which does not raise the version, may have come in between.
  case update(AccountRecord)
  /// Raises the version if it still is `version`, else `.stale`. Guards a change of the account's dependents, such as
  /// its identities.
  case raise(id: String, version: Int64)
  /// Records a sign-in, unless a later one is recorded. Does not raise the version, so that parallel sign-ins of one
  /// user do not conflict.
  ///
  /// `.stale` if the version differs. A password, identity or account that was changed, unlinked or disabled since the
  /// lookup then opens no session.
  case touch(id: String, version: Int64, lastSignInAt: Timestamp)
  /// Checks the version without raising it. `.stale` if it differs: no response shows an account as it was before a
  /// change that was complete when this one is applied.
  case confirm(id: String, version: Int64)
  /// Rejects custom tokens issued before this time, disables the account on request, and raises the version.
  ///
  /// `.stale` if the account is gone, or must be disabled and is disabled already: of several concurrent changes that
  /// disable it, one succeeds. It accepts any version, because a revocation must not fail while another client keeps
  /// changing the account.
  case cutOff(accountID: String, at: Timestamp, disabling: Bool)
  /// Fails with `.conflict(.email)` if an account has this address. No account can take the address before this change
  /// is applied. Guards a decision based on a free address that the change itself does not take.
  case requireFreeEmail(String)
  /// Removes the account and its dependents: identities, factors, unlinks, sessions, pending rows.
  ///
  /// The id is not assigned again: every later `insert` with it fails with `.conflict(.accountID)`. `.stale` if the
  /// account is gone or the version differs. A nil version matches any version.
  case close(ClosedAccountRecord, version: Int64?)
  /// Frees the id of a removed account, and removes the account's failures and messages, waiting ones included.
  /// `.stale` unless there is one whose id is not free yet.
  case forget(id: String, at: Timestamp)
  /// `.stale` if a session of the account was used at or after this time.
  case requireIdle(accountID: String, since: Timestamp)
  /// Records a use of an anonymous account. `Query.idleAnonymous` finds the account again only once this time is old
  /// enough.
  case noteIdle(accountID: String, since: Timestamp)
}

package indirect enum IdentityWrite: Hashable, Sendable {
  /// Fails with `.conflict(.identity)`.
  case insert(IdentityRecord)
  /// Replaces the profile data from the provider. Key, account and `linkedAt` stay. `.stale` if the identity is gone.
  case update(IdentityRecord)
  /// `.stale` if the account does not have the identity.
  case delete(IdentityKey, accountID: String)
}

package indirect enum UnlinkWrite: Hashable, Sendable {
  case remember(UnlinkRecord)
  case forget(accountID: String, IdentityKey)
}

package indirect enum FactorWrite: Hashable, Sendable {
  case insert(FactorRecord)
  /// Replaces the factor's secret and name. `.stale` if the account does not have the factor.
  case update(FactorRecord)
  /// `.stale` if the account does not have the factor.
  case delete(id: String, accountID: String)
  /// `.stale` if the account has a factor. After writes that delete the known factors, this proves that no others
  /// exist.
  case requireNone(accountID: String)
}

package indirect enum SessionWrite: Hashable, Sendable {
  case insert(SessionRecord)
  /// Rotates the refresh token if the current one still is `from` and the row is open, else `.stale`.
  case rotate(id: String, from: Digest, to: Digest, at: Timestamp, idleExpiresAt: Timestamp)
  /// Changes the sign-in method in the session's tokens if the row is open, else `.stale`.
  case rename(id: String, signInProviderID: String, methods: [String], at: Timestamp)
  /// Has no effect if the session is closed or unknown. The account is that of the session.
  case close(id: String, accountID: String, at: Timestamp, reason: SessionClosedReason)
  /// Closes all sessions of the account except one.
  case closeAll(accountID: String, except: String?, at: Timestamp, reason: SessionClosedReason)
  /// Closes the account's sessions that began with this provider, except one.
  case closeBegun(accountID: String, beganWith: String, except: String?, at: Timestamp, reason: SessionClosedReason)
  /// `.stale` unless this session is open at this time, and has this refresh digest if one is given. Guards a change
  /// made on behalf of a session.
  case requireOpen(id: String, refreshDigest: Digest? = nil, at: Timestamp)
}

extension Write {
  package static func closing(_ session: SessionRecord, at now: Timestamp, reason: SessionClosedReason) -> Write {
    .session(.close(id: session.id, accountID: session.accountID, at: now, reason: reason))
  }
}

package indirect enum PendingWrite: Hashable, Sendable {
  /// Fails with `.limited` if the account, the caller or the table has reached its limit.
  case insert(PendingRecord, limits: PendingLimits)
  /// Marks the row completed if it still has this version, is not completed and has not expired, else `.stale`.
  case complete(Digest, version: Int64, at: Timestamp, accountID: String, sessionID: String)
  /// Subtracts one attempt, down to 0.
  case countAttempt(Digest)
  /// Subtracts one attempt if the row still has this version and an attempt left, else `.stale`. A response to one of
  /// several parallel attempts thus never precedes its count.
  case spendAttempt(Digest, version: Int64)
  /// Replaces the sealed content if the row still has this version and is not completed, else `.stale`.
  case reseal(Digest, version: Int64, sealed: [UInt8])
  /// Removes the account's pending rows, except one row and the rows of the spared purposes.
  case deleteAll(accountID: String, except: Digest? = nil, sparing: [PendingPurpose] = [])
  /// Removes the pending rows of one purpose for one identity, from all callers. With `createdAfter`, removes only the
  /// rows created later.
  case end(PendingPurpose, IdentityKey, createdAfter: Timestamp? = nil)
}

package indirect enum DeliveryWrite: Hashable, Sendable {
  /// Fails with `.limited(.deliveries)` if `queueMax` messages wait already.
  case enqueue(DeliveryRecord, queueMax: Int)
  /// Never fails the change. If a notice with the same merge key waits, it stays and takes the later expiry. A notice
  /// beyond the limits is dropped. The observer is notified of both cases.
  case enqueueNotice(DeliveryRecord, within: NoticeLimits)
  /// Claims one attempt and sets the time of the next. `.stale` if another process has claimed it, or the message is
  /// gone or given up. Of several concurrent senders, only one sends.
  case claim(id: String, attempts: Int, nextAttemptAt: Timestamp)
  /// Removes an obsolete message. Has no effect if the message is gone.
  case remove(id: String)
  /// Removes a message that was sent. If it was sent to the user of an account, a record without its content stays
  /// until `keptUntil`. Has no effect if the message is gone.
  case removeSent(id: String, at: Timestamp, keptUntil: Timestamp)
  /// Notes why the last attempt failed. Has no effect if the message is gone or given up.
  case noteError(id: String, error: String)
  /// Gives the message up. Its content stays until the message expires, the rest until `keptUntil`. Has no effect if
  /// the message is gone or given up already.
  case bury(id: String, at: Timestamp, reason: String, keptUntil: Timestamp)
  /// Makes the message due at this time. One that was given up waits again, with all attempts, and is no longer merged
  /// with equal notices. `.stale` if it is gone, has expired by then, or has no content any more. Fails with
  /// `.limited(.deliveries)` if `queueMax` messages wait already.
  case requeue(id: String, at: Timestamp, queueMax: Int)
}

package indirect enum ThrottleWrite: Hashable, Sendable {
  /// Adds one to the count of its key (`ThrottleRecord.counting`), exactly even under concurrency. With
  /// `refusesBlocked`, fails with `.throttled` while the key is blocked.
  case count(ThrottleCount)
  /// Deletes the count of the key. While the key is blocked, fails with `.throttled` unless `liftsBlock` is set. An
  /// attempt that began before the block must not end it.
  case reset(Digest, ThrottleKind, at: Timestamp, liftsBlock: Bool = false)
}

package indirect enum SigningKeyWrite: Hashable, Sendable {
  /// Fails with `.conflict(.signingKey)`.
  case insert(SigningKeyRecord)
  /// `.stale` if an unretired key exists: of several replicas that create the first key, one succeeds.
  case requireNone
  /// `.stale` if the key is retired or unknown: of several replicas that replace a key, one succeeds.
  case retire(keyID: String, at: Timestamp)
  /// Removes the keys retired at or before this time.
  case delete(retiredBy: Timestamp)
  /// `.stale` unless the key is stored with these times. No other change can replace or remove the key before this one
  /// is applied. Guards a decision that depends on the key. Changes with several of these name the keys in the order in
  /// which lookups return them.
  case confirm(SigningKeyRecord)
  /// Replaces the times of a key that the change confirms. `.stale` if the key is unknown.
  case reschedule(keyID: String, activeFrom: Timestamp, retiredAt: Timestamp?)
  /// Removes a key. `.stale` if the key is unknown: of several revocations of one key, one succeeds.
  case revoke(keyID: String)
}

package indirect enum FailureWrite: Hashable, Sendable {
  /// Adds the attempts to the row with the same key, or to a new one. If the hour has no room for a new row, adds them
  /// to the row of the remainder.
  case add(FailureCount)
}

/// Records that depend on no other.
package indirect enum RecordWrite: Hashable, Sendable {
  /// Replaces a record that had expired when this one was created. Fails with `.conflict(.idempotency)` if the record
  /// has not expired.
  case insertIdempotency(IdempotencyRecord)
  /// Fails with `.conflict(.spentToken)`.
  case spendToken(Digest, expiresAt: Timestamp)
  case appendAudit(AuditRecord)
  /// Has no effect if a key with this id exists: the id is derived from the key.
  case keepImportKey(ImportKeyRecord)
  /// Records that a server has this master key, and whether the key comes first there. No time moves back.
  case noteMasterKey(MasterKeyID, seals: Bool, at: Timestamp)
  /// Replaces the sealed column of a row that still has these bytes. Has no effect if the row is gone or another write
  /// has replaced them.
  case seal(SealedRowName, from: [UInt8], to: [UInt8])
}
