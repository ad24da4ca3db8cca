import Store

/// Accounts that were asked for lately by an identity or a session, kept by one reader: who signs in is mostly somebody
/// who did so before, and the look-up walks three trees of the file, whose newest pages are in the log.
///
/// An entry tells all that the file holds but `lastSignInAt`, which every sign-in moves on without touching anything
/// else: it is asked for only where that does not matter (`Query.lastSignInMayLag`).
final class AccountCache {
  enum Name {
    case identity(IdentityKey)
    case id(String)
  }

  /// The most that one account may take of it: its texts, and what hangs on it by the piece.
  static let bytesMax = 4096
  static let bytesPerPiece = 128

  private let cache: MarkedCache<Name, Held<AccountState>>

  /// - Parameter room: for how many accounts, a multiple of four; 0 keeps none.
  init(room: Int, marks: CommitMarks) { cache = MarkedCache(room: room, marks: marks) }

  static func hash(ofAccount id: String) -> UInt64 {
    var hasher = Hasher()
    hasher.combine(id)
    return UInt64(bitPattern: Int64(hasher.finalize()))
  }

  /// nil: not known.
  func find(_ name: Name) -> Held<AccountState>? { cache.find(name) }

  /// `commit` is that of before the snapshot in which the account was found.
  func keep(_ owner: Held<AccountState>, of name: Name, asOf commit: UInt64) {
    guard let state = owner.wrappedValue, state.bytes <= AccountCache.bytesMax else { return }
    cache.keep(owner, of: name, account: AccountCache.hash(ofAccount: state.account.id), asOf: commit)
  }
}

/// Byte by byte, as the file compares: texts that Unicode calls equivalent are two people there.
extension AccountCache.Name: Hashable {
  static func == (left: AccountCache.Name, right: AccountCache.Name) -> Bool {
    switch (left, right) {
    case (.identity(let left), .identity(let right)):
      left.subject.utf8.elementsEqual(right.subject.utf8) && left.providerID.utf8.elementsEqual(right.providerID.utf8)
    case (.id(let left), .id(let right)): left.utf8.elementsEqual(right.utf8)
    default: false
    }
  }

  func hash(into hasher: inout Hasher) {
    switch self {
    case .identity(let key): hasher.combine(key)
    case .id(let id): hasher.combine(id)
    }
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
  fileprivate var bytes: Int { providerID.utf8.count + subject.utf8.count }
}
