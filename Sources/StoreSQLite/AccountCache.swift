import Store

/// Accounts of identities that were asked for lately, kept by one reader: who signs in is mostly somebody who did so
/// before, and the look-up walks three trees of the file, whose newest pages are in the log.
///
/// An entry tells all that the file holds but `lastSignInAt`, which every sign-in moves on without touching anything
/// else: it is asked for only where the caller sets that itself (`Query.lastSignInMayLag`).
final class AccountCache {
  private struct Entry {
    let key: IdentityKey
    let owner: Held<AccountState>
    /// Of the account's id.
    let hash: UInt64
    let commit: UInt64
  }

  /// The most that one account may take of it: its texts, and what hangs on it by the piece.
  static let bytesMax = 4096
  static let bytesPerPiece = 128

  private var entries: [Entry?]
  private let marks: CommitMarks

  /// - Parameter room: for how many accounts; 0 keeps none.
  init(room: Int, marks: CommitMarks) {
    entries = Array(repeating: nil, count: room)
    self.marks = marks
  }

  static func hash(ofAccount id: String) -> UInt64 {
    var hasher = Hasher()
    hasher.combine(id)
    return UInt64(bitPattern: Int64(hasher.finalize()))
  }

  /// nil: not known.
  func find(_ key: IdentityKey) -> Held<AccountState>? {
    guard !entries.isEmpty, let entry = entries[place(of: key)], entry.key.isSame(as: key),
      entry.commit >= marks.last(entry.hash)
    else { return nil }
    return entry.owner
  }

  /// `commit` is that of before the snapshot in which the account was found.
  func keep(_ owner: Held<AccountState>, of key: IdentityKey, asOf commit: UInt64) {
    guard !entries.isEmpty, let state = owner.wrappedValue, state.bytes <= AccountCache.bytesMax else { return }
    let hash = AccountCache.hash(ofAccount: state.account.id)
    guard commit >= marks.last(hash) else { return }
    entries[place(of: key)] = Entry(key: key, owner: owner, hash: hash, commit: commit)
  }

  /// Keyed, so that nobody can choose identities that push each other out.
  private func place(of key: IdentityKey) -> Int {
    var hasher = Hasher()
    hasher.combine(key)
    return Int(UInt(bitPattern: hasher.finalize()) % UInt(entries.count))
  }
}

extension AccountState {
  fileprivate var bytes: Int {
    let texts = [
      account.id, account.email, account.emailProofProviderID, account.emailSource, account.phoneNumber,
      account.displayName, account.photoURL, account.customClaimsJSON, account.passwordHash,
    ]
    var count = texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
    for identity in identities {
      count += identity.key.bytes + (identity.email?.utf8.count ?? 0) + identity.displayName.utf8.count
      count += identity.photoURL.utf8.count + identity.username.utf8.count
    }
    for factor in factors { count += factor.displayName.utf8.count + factor.sealedSecret.count }
    for unlink in unlinks { count += unlink.key.bytes }
    return count + (identities.count + factors.count + unlinks.count) * AccountCache.bytesPerPiece
  }
}

extension IdentityKey {
  /// Byte by byte, as the file compares: texts that Unicode calls equivalent are two people there.
  fileprivate func isSame(as other: IdentityKey) -> Bool {
    subject.utf8.elementsEqual(other.subject.utf8) && providerID.utf8.elementsEqual(other.providerID.utf8)
  }

  fileprivate var bytes: Int { providerID.utf8.count + subject.utf8.count }
}
