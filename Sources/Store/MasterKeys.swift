// What a rotation of the master key reads and writes: the keys that servers have used, the rows that are sealed under
// each of them, and the age of refresh tokens.

/// The public id of a master key, with which every value that is sealed under it begins.
package struct MasterKeyID: Hashable, Comparable, Sendable, CustomStringConvertible {
  package static let byteCount = 4

  /// Eight hexadecimal digits.
  package let text: String

  package init(text: String) { self.text = text }

  /// - Parameter bytes: a sealed value, or its first bytes. An empty value is not sealed, so its id is empty.
  package init(bytes: some Collection<UInt8>) {
    text = bytes.prefix(MasterKeyID.byteCount).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  package var description: String { text }

  package static func < (left: MasterKeyID, right: MasterKeyID) -> Bool { left.text < right.text }
}

/// A master key that a server has used. Servers confirm their keys regularly (`RecordWrite.noteMasterKey`).
package struct MasterKeyRecord: Hashable, Sendable {
  package var id: String
  /// The time at which a server first had the key.
  package var knownAt: Timestamp
  /// The last time at which a server confirmed that it has the key.
  package var seenAt: Timestamp
  /// The last time at which a server confirmed that this key comes first, so that it seals. nil: none ever did.
  package var sealedAt: Timestamp?

  package init(id: String, knownAt: Timestamp, seenAt: Timestamp, sealedAt: Timestamp? = nil) {
    self.id = id
    self.knownAt = knownAt
    self.seenAt = seenAt
    self.sealedAt = sealedAt
  }
}

/// The tables with a sealed column. Idempotency records contain sealed texts too. They expire and are never sealed
/// again.
package enum SealedTable: String, CaseIterable, Sendable {
  case signingKeys = "signing_keys"
  case importKeys = "import_keys"
  case factors
  case pendings
  case deliveries
}

/// A row with a sealed column.
package enum SealedRow: Hashable, Sendable {
  case signingKey(SigningKeyRecord)
  case importKey(ImportKeyRecord)
  case factor(FactorRecord)
  case pending(PendingRecord)
  case delivery(DeliveryRecord)

  package var sealed: [UInt8] {
    switch self {
    case .signingKey(let key): key.sealedPrivateKey
    case .importKey(let key): key.sealedKey
    case .factor(let factor): factor.sealedSecret
    case .pending(let pending): pending.sealed
    case .delivery(let delivery): delivery.sealed
    }
  }

  package var name: SealedRowName {
    switch self {
    case .signingKey(let key): .signingKey(key.keyID)
    case .importKey(let key): .importKey(key.id)
    case .factor(let factor): .factor(factor.id, accountID: factor.accountID)
    case .pending(let pending): .pending(pending.digest)
    case .delivery(let delivery): .delivery(delivery.id)
    }
  }
}

/// The unique key of a row with a sealed column.
package enum SealedRowName: Hashable, Sendable {
  case signingKey(String)
  case importKey(String)
  case factor(String, accountID: String)
  case pending(Digest)
  case delivery(String)
}

/// The last row of a page. Only the backend that returned it can interpret it.
package struct SealedCursor: Hashable, Sendable {
  package var owner: String
  package var id: String
  package var digest: [UInt8]

  package init(owner: String = "", id: String = "", digest: [UInt8] = []) {
    self.owner = owner
    self.id = id
    self.digest = digest
  }
}

/// A lookup for a rotation of the master key.
package indirect enum MasterKeyQuery: Hashable, Sendable {
  /// All keys that servers have used.
  case keys
  /// A page of the rows of a table, ordered by its primary key. Rows that are added or removed between calls move no
  /// other row to another page. nil: starts with the first row.
  case rows(SealedTable, after: SealedCursor?, rowsMax: Int)
  /// A page of all sessions after this id, in the order of ids: how many are open at `at` with a refresh token from
  /// `issuedBy` or before, and when the last of them ends.
  case refreshTokens(afterID: String, rowsMax: Int, issuedBy: Timestamp, at: Timestamp)
}

/// The result of a `MasterKeyQuery`.
package enum MasterKeyFacts: Hashable, Sendable {
  case keys([MasterKeyRecord])
  /// `next` is nil after the last page.
  case rows([SealedRow], next: SealedCursor?)
  case refreshTokens(RefreshTokenAges)
}

package struct RefreshTokenAges: Hashable, Sendable {
  package var count: Int
  package var lastEnd: Timestamp?
  /// nil after the last page.
  package var nextID: String?

  package init(count: Int = 0, lastEnd: Timestamp? = nil, nextID: String? = nil) {
    self.count = count
    self.lastEnd = lastEnd
    self.nextID = nextID
  }
}
