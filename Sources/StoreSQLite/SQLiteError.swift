import CSQLite
import Reactor
import Store

/// An error from SQLite, or a row that cannot be read back.
struct SQLiteError: Error {
  /// The extended result code.
  let code: Int32
  let text: String
  /// Whether a single row has a value that this code never wrote. SQLite itself found no damage.
  private(set) var isOfRow = false

  init(code: Int32, text: String) {
    self.code = code
    self.text = text
  }

  /// A failed system call of our own, not of SQLite.
  init(_ error: SystemError) { self.init(code: SQLITE_ERROR, text: "\(error)") }

  /// A row contains a value that this code never wrote.
  static func corrupt(_ text: String) -> SQLiteError {
    var error = SQLiteError(code: SQLITE_CORRUPT, text: text)
    error.isOfRow = true
    return error
  }

  var storeError: StoreError {
    switch code & 0xff {
    case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt(text)
    default: .unavailable("\(text) (SQLite \(code))")
    }
  }

  /// The condition of the store that the error reveals; nil: the error concerns one call only.
  ///
  /// An unusual row is not such a condition: a newer version may have written it.
  var trouble: StoreTrouble? {
    switch code & 0xff {
    case SQLITE_CORRUPT, SQLITE_NOTADB: isOfRow ? nil : .corrupt
    case SQLITE_FULL: .full
    case SQLITE_IOERR: code == csqlite_ioerr_nomem ? nil : .unreadable
    case SQLITE_CANTOPEN: .unreadable
    default: nil
    }
  }

  /// Reports the condition of the store, if the error reveals one.
  func report(to observer: (any StoreObserver)?) {
    if let trouble { observer?.met(trouble, "\(text) (SQLite \(code))") }
  }

  /// The error while a file is opened. CANTOPEN counts as passing: the file itself is accessible, so SQLite lacks
  /// descriptors.
  var openingError: StoreError {
    switch code & 0xff {
    case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt(text)
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_FULL, SQLITE_IOERR, SQLITE_NOMEM, SQLITE_CANTOPEN: storeError
    default: .unusable("\(text) (SQLite \(code))")
    }
  }

  /// The error while a copy is made.
  var copyError: StoreCopyError {
    switch code & 0xff {
    case SQLITE_INTERRUPT: .unwanted
    case SQLITE_FULL: .full
    default: .failed("\(text) (SQLite \(code))")
    }
  }

  /// Whether the kernel failed to sync.
  ///
  /// The state of the pages is then unknown, and a second sync could report success for pages that were dropped. Only a
  /// restart, which reads the file again, is safe.
  var isSyncFailure: Bool { code == csqlite_ioerr_fsync || code == csqlite_ioerr_dir_fsync }

  /// Whether a lock was not available in time.
  var isLock: Bool { code & 0xff == SQLITE_BUSY }

  /// The unique key that rejected a row. SQLite names the columns of the index that failed.
  var uniqueKey: UniqueKey? {
    guard code == csqlite_constraint_unique || code == csqlite_constraint_primarykey,
      let columns = text.split(separator: ": ", maxSplits: 1).last
    else { return nil }
    return switch columns {
    case "accounts.id": .accountID
    case "accounts.email": .email
    case "accounts.phone_number": .phoneNumber
    case "identities.provider_id, identities.subject", "identities.provider_id, identities.transfer_subject": .identity
    case "idempotency.key": .idempotency
    case "spent_tokens.digest": .spentToken
    case "signing_keys.key_id": .signingKey
    default: nil
    }
  }
}
