// Identity: the rules of sign-in, account linking and sessions.
//
// Owns: what every call means. Decisions are pure functions of loaded records, the facts of the request, the policy and
// the time. Use cases load, decide and commit. After a lost race, they decide again on newer records.
// Does not own: wire messages (Services), storage (Store), hashing, signatures and providers (Ports.swift has the
// protocols), caller authentication and caller rights (Callers).
// Comments cite sections, steps and rows (S1, L1) of proto/SEMANTICS.md, and checks of Tests/Scenarios/CHECKS.md.
// Read next: Failure.swift and Policy.swift, then SignIn/SignInDecision.swift with its tables in Tests/IdentityTests.

package import Store
internal import Synchronization

/// Facts of one call other than its credential, settled before a use case starts.
///
/// A class, because each use case passes it on several times.
package final class CallFacts: Sendable {
  package let caller: CallerName
  /// `/package.Service/Method`.
  package let path: String
  /// The end of the call on the monotonic clock; `.max`: none.
  package let deadlineMillis: Int64
  /// The human for whom the caller acts, as it names them. Empty: it names none.
  package let actor: String
  /// Whether the caller may look up accounts by email address (`fetch_by_email`).
  package let mayFetchByEmail: Bool
  /// Whether the caller may merge two accounts (`merge`).
  package let mayMerge: Bool
  /// Whether a certificate or key identified the caller. Other callers never reach administration, events or merging.
  package let callerIdentified: Bool
  /// Audiences whose ID tokens the caller may present. Sessions that it opens are issued for the first one.
  package let audiences: [String]
  /// URIs to which providers and links in emails may send users back, compared byte for byte.
  package let redirectURIs: [String]
  /// Digest of the user's browser session or device, as the caller named it.
  package let binding: Digest?
  package let idempotency: IdempotencyClaim?
  package let ipAddress: String
  package let userAgent: String
  package let deviceID: String
  /// Settles whether the commit or a cancellation comes first. The call has one.
  package let commitDecision: CommitDecision
  /// For the log and the metrics; nil for look-ups.
  package let notes: CallNotes?
  /// Names and values that identify the call in audit rows, after all other details.
  package let origin: [(key: String, value: String)]
  private let drawnAccountID = Mutex<String?>(nil)

  package init(
    caller: CallerName, mayFetchByEmail: Bool, mayMerge: Bool = false, callerIdentified: Bool, audiences: [String],
    redirectURIs: [String] = [], binding: Digest? = nil,
    idempotency: IdempotencyClaim? = nil, ipAddress: String = "", userAgent: String = "", deviceID: String = "",
    actor: String = "", commitDecision: CommitDecision = CommitDecision(), notes: CallNotes? = nil,
    origin: [(key: String, value: String)] = [], path: String = "", deadlineMillis: Int64 = .max
  ) {
    self.caller = caller
    self.actor = actor
    self.mayFetchByEmail = mayFetchByEmail
    self.mayMerge = mayMerge
    self.callerIdentified = callerIdentified
    precondition(!audiences.isEmpty, "a caller has at least one audience")
    self.audiences = audiences
    self.redirectURIs = redirectURIs
    self.binding = binding
    self.idempotency = idempotency
    self.ipAddress = ipAddress
    self.userAgent = userAgent
    self.deviceID = deviceID
    self.commitDecision = commitDecision
    self.notes = notes
    self.origin = origin
    self.path = path
    self.deadlineMillis = deadlineMillis
  }

  /// Returns the id of an account that the call creates: the same in each of its decisions.
  func accountID(_ draw: () -> String) -> String {
    drawnAccountID.withLock { drawn in
      let id = drawn ?? draw()
      drawn = id
      return id
    }
  }
}

extension CallFacts {
  /// Audience of the tokens of a session that this call opens.
  package var audience: String { audiences[0] }

  /// Checks that `uri` exactly matches an entry of the caller's list (RFC 9700 2.1).
  ///
  /// Compares bytes, because two different URIs can be equal in Unicode. Throws `Failure(.redirectURINotAllowed)`.
  func requireRedirect(_ uri: String, field: String) throws(Failure) {
    guard redirectURIs.contains(where: { $0.utf8.elementsEqual(uri.utf8) }) else {
      throw Failure(
        .redirectURINotAllowed, field: field,
        hint: "The URI must exactly match an entry of the caller's `redirect_uris`.")
    }
  }
}

/// The idempotency key of a call and its request, as keyed digests (HMAC) that reveal nothing to a reader of the table.
package struct IdempotencyClaim: Hashable, Sendable {
  package struct Names: Hashable, Sendable {
    package var key: Digest
    package var request: Digest

    package init(key: Digest, request: Digest) {
      self.key = key
      self.request = request
    }
  }

  package let key: Digest
  package let request: Digest
  /// The same key and request under the other master keys.
  package let others: [Names]

  package init(key: Digest, request: Digest, others: [Names] = []) {
    self.key = key
    self.request = request
    self.others = others
  }

  /// The digest of the request under the master key that made the digest of the key.
  func request(under key: Digest) -> Digest? {
    key == self.key ? request : others.first { $0.key == key }?.request
  }

  /// All names in lock order, so that servers whose master keys are in different order cannot deadlock.
  var all: [Names] {
    ([first] + others).sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
  }

  var first: Names { Names(key: key, request: request) }
}

extension Query {
  /// Looks up the record of the call's idempotency key.
  mutating func look(for claim: IdempotencyClaim?) {
    guard let claim else { return }
    idempotency = claim.key
    if !claim.others.isEmpty { otherIdempotency = claim.others.map(\.key) }
  }
}
