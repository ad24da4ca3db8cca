import Store

/// Recently read accounts, by identity or session, cached by one reader.
///
/// Most users who sign in have done so before. The lookup would search three trees of the file, whose newest pages are
/// in the WAL. An entry holds everything in the file except a current `lastSignInAt`, which every sign-in changes. It
/// is therefore used only if that field may lag (`Query.lastSignInMayLag`).
final class AccountCache {
  enum Name {
    case identity(IdentityKey)
    case id(String)
  }

  /// The largest size of a cached account: its texts, and a flat size for each dependent.
  static let bytesMax = 4096
  static let bytesPerPiece = 128

  private let cache: MarkedCache<Name, Held<AccountState>>

  /// - Parameter room: the number of accounts, a multiple of four. 0 caches none.
  init(room: Int, marks: CommitMarks) { cache = MarkedCache(room: room, marks: marks) }

  static func hash(ofAccount id: String) -> UInt64 {
    var hasher = Hasher()
    hasher.combine(id)
    return UInt64(bitPattern: Int64(hasher.finalize()))
  }

  /// nil: not cached.
  func find(_ name: Name) -> Held<AccountState>? { cache.find(name) }

  /// Caches an account.
  ///
  /// - Parameter commit: the last commit before the snapshot in which the account was found.
  func keep(_ owner: Held<AccountState>, of name: Name, asOf commit: UInt64) {
    guard let state = owner.wrappedValue, state.bytes <= AccountCache.bytesMax else { return }
    cache.keep(owner, of: name, account: AccountCache.hash(ofAccount: state.account.id), asOf: commit)
  }
}

/// Compared bytewise, as in the file: texts that Unicode considers equivalent belong to different users there.
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
      account.id, account.email, account.emailAddress?.verification?.providerID, account.emailAddress?.source,
      account.phoneNumber,
      account.displayName, account.photoURL, account.customClaimsJSON, account.passwordHash,
    ]
    var count = texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
    for identity in identities {
      count += identity.key.bytes + (identity.email?.utf8.count ?? 0) + identity.displayName.utf8.count
      count += identity.photoURL.utf8.count + identity.username.utf8.count + (identity.passkey?.count ?? 0)
    }
    for factor in factors { count += factor.displayName.utf8.count + factor.sealedSecret.count }
    for unlink in unlinks { count += unlink.key.bytes }
    return count + (identities.count + factors.count + unlinks.count) * AccountCache.bytesPerPiece
  }
}

extension IdentityKey {
  fileprivate var bytes: Int { providerID.utf8.count + subject.utf8.count }
}
