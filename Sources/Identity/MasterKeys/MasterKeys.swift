package import Store

// What a rotation of the master key does to each value that depends on one.
//
// The operator changes the order of `secrets.master_key_files` in phases (deploy/docs/secrets.md): all servers know
// both keys and the old one comes first; all have the new one first; rows are sealed again and the rest ages out; the
// old file is removed. While servers restart one after the other, they have the keys in either order. In each such
// pair of servers, each knows the first key of the other. All arguments below rest on that.
//
// - Private signing keys (`signing_keys`): sealed again.
// - Hash keys of former services (`import_keys`): sealed again. Their ids are digests, but every lookup uses a stored
//   id, so the rows stay. A later import of the same key stores it once more.
// - Secrets of second factors (`factors`): sealed again.
// - Pending credentials and flows (`pendings`): sealed again. The row's name is an unkeyed digest of a random token.
// - Queued messages (`deliveries`): sealed again.
// - Answers of idempotent calls (`idempotency.outcome`): age out. Sealed for each of the two rows below.
// - Names of idempotency keys and requests (`idempotency`): a call writes a row under each key and looks up all.
// - Tags of refresh tokens (in the token): accepted under each key. A new token has that of the first key.
// - Successors of refresh tokens (`sessions.refresh_digest`): derived under the first key, recognised under each.
// - Names of throttles (`throttles`): a call counts in a row under each key, and each row has the limit.
// - Networks of pending rows (`pendings.network`): age out. Only the first key names them.
// - Equal waiting notices (`deliveries.merge_key`): age out. Only the first key names them.
//
// Throttles: two servers with the keys in either order write the same rows in one transaction each, in an order that
// does not depend on the configuration (the order of digests). A server that does not know the new key writes only the
// row under the old one. So the row under the old key contains every event until the old key is removed, and it alone
// holds the limit. When it is removed, the row under the new key contains every event since all servers had both keys,
// which is longer ago than any throttle lasts. A reset deletes both rows. A limit is thus never exceeded. No
// event blocks a user by being counted twice, because each row counts it once.
//
// Idempotency: two equal calls on two servers insert rows under a common key and meet at its unique index, so one of
// them commits. The loser decides again, and finds the row of the winner under one of the keys that it knows.
//
// Refresh tokens: a session has one current digest, without a key. Two servers that exchange the same token derive
// different successors, but compare-and-set admits one of them. The loser recognises the token of the winner by its
// digest and returns the same text, tag included. A repeat on another server does the same. Replay detection compares
// unkeyed digests. Once the old key is removed, a copied token with its tag is rejected, but no longer ends its
// session.
//
// Networks and notices: during the change a network counts as two, and an equal notice may be sent twice. The quota of
// the caller and the limit of notices do not depend on these names, so both still hold.

extension SealedRow {
  /// The context of the row's seal.
  fileprivate var context: [UInt8] {
    switch self {
    case .signingKey(let key): SigningKeyRecord.context(ofKey: key.keyID)
    case .importKey(let key): ImportAccounts.context(ofKey: key.id)
    case .factor(let factor): FactorSecret.context(of: factor)
    case .pending(let pending): PendingTable.context(of: pending)
    case .delivery(let delivery): OutgoingMessage.context(deliveryID: delivery.id)
    }
  }
}

extension SigningKeyRecord {
  package static func context(ofKey keyID: String) -> [UInt8] { Array("signing key \(keyID)".utf8) }
}

extension Environment {
  /// Returns the write that seals a row under the first master key. nil: the row does not open.
  func sealingAgain(_ row: SealedRow) -> Write? {
    guard let plaintext = cryptography.open(row.sealed, context: row.context) else { return nil }
    return .record(.seal(row.name, from: row.sealed, to: cryptography.seal(plaintext, context: row.context)))
  }

  func masterKeyFacts(_ wanted: MasterKeyQuery) async throws -> MasterKeyFacts? {
    var query = Query()
    query.masterKeys = wanted
    return try await load(query).masterKeys
  }
}
