import Store

/// What a write locks or relies on. `Script` takes these locks before the first write.
struct WriteLocks {
  /// The account whose row the write locks or relies on by itself.
  var account: String?
  /// The account whose sessions are added or closed. Such changes run one after the other: a statement that closes all
  /// sessions and waits for one would miss those added during the wait, and a change that locks several sessions could
  /// deadlock with it.
  var accountOfSessions: String?
  /// The account that the write creates, which no other transaction can lock.
  var newAccount: String?
  /// Whether the write adds, locks, closes or reads sessions. These writes keep their relative order.
  var sessions = false
  /// Whether the write adds or removes pending rows, and so changes counts.
  var pendings = false
  /// The lock of the identity whose pending rows the write ends (`CountParts.bucket`).
  var pendingBucket: Int?

  static let none = WriteLocks()
}

// No switch has a default: a new write does not compile before its locks are stated.

extension Write {
  var locks: WriteLocks {
    switch self {
    case .account(let write): write.locks
    case .identity(let write): write.locks
    case .unlink(let write): write.locks
    case .factor(let write): write.locks
    case .session(let write): write.locks
    case .pending(let write): write.locks
    // Their rows are locked by the statements themselves, or before the script (`ThrottleRows`).
    case .delivery, .throttle, .signingKey, .record, .failure: .none
    }
  }
}

extension AccountWrite {
  fileprivate var locks: WriteLocks {
    switch self {
    case .insert(let account): WriteLocks(newAccount: account.id)
    case .update(let account): WriteLocks(account: account.id)
    case .raise(let id, _), .touch(let id, _, _), .cutOff(let id, _, _): WriteLocks(account: id)
    case .close(let closed, _): WriteLocks(account: closed.id, sessions: true, pendings: true)
    case .requireIdle(let id, _): WriteLocks(account: id, sessions: true)
    case .confirm, .requireFreeEmail, .noteIdle, .forget: .none
    }
  }
}

extension IdentityWrite {
  fileprivate var locks: WriteLocks {
    switch self {
    case .insert(let identity): WriteLocks(account: identity.accountID)
    case .update, .delete: .none
    }
  }
}

extension UnlinkWrite {
  fileprivate var locks: WriteLocks {
    switch self {
    case .remember(let unlink): WriteLocks(account: unlink.accountID)
    case .forget: .none
    }
  }
}

extension FactorWrite {
  fileprivate var locks: WriteLocks {
    switch self {
    case .insert(let factor): WriteLocks(account: factor.accountID)
    case .requireNone(let accountID): WriteLocks(account: accountID)
    case .update, .delete: .none
    }
  }
}

extension SessionWrite {
  fileprivate var locks: WriteLocks {
    switch self {
    case .insert(let session): WriteLocks(accountOfSessions: session.accountID, sessions: true)
    case .close(_, let id, _, _), .closeAll(let id, _, _, _), .closeBegun(let id, _, _, _, _):
      WriteLocks(accountOfSessions: id, sessions: true)
    // A change with several of these for one account also closes a session, which locks the account.
    case .rotate, .rename, .requireOpen: WriteLocks(sessions: true)
    }
  }
}

extension PendingWrite {
  fileprivate var locks: WriteLocks {
    switch self {
    case .insert(let pending, _):
      // An account's limit counts its rows under the lock of the account.
      WriteLocks(account: pending.accountID.isEmpty ? nil : pending.accountID, pendings: true)
    case .deleteAll(let accountID, _, _): WriteLocks(account: accountID, pendings: true)
    case .end(let purpose, let key, _): WriteLocks(pendings: true, pendingBucket: CountParts.bucket(purpose, key))
    case .complete, .countAttempt, .spendAttempt, .reseal: .none
    }
  }
}
