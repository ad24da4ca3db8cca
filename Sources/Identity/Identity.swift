// Identity: the product.
//
// Owns: what every call means. Decisions are pure functions of loaded records, the facts of the request, the policy and
// the time; use cases load, decide and commit, and decide again on newer facts when a race was lost.
// Does not own: wire messages (Services), storage (Store), hashing, signatures and providers (Ports.swift says what it
// needs of them), who calls and what it may (Admission).
// Sections, steps and rows (S1, L1) in comments are those of proto/SEMANTICS.md, checks those of
// Tests/Scenarios/CHECKS.md.
// Read next: Failure.swift and Policy.swift, then SignIn/SignInDecision.swift with its tables in Tests/IdentityTests.

package import Store

/// Everything about one call that is not its credential: settled before a use case starts. A class, because each use
/// case hands it on several times.
package final class CallFacts: Sendable {
  package let caller: CallerName
  /// The caller may look up an address (`fetch_by_email`).
  package let mayFetchByEmail: Bool
  /// The caller may have two accounts merged (`merge`).
  package let mayMerge: Bool
  /// The caller was identified by certificate or key. Unidentified ones never reach administration, events or
  /// merging.
  package let callerIdentified: Bool
  /// Whose tokens the caller may present; sessions opened by it are issued for the first.
  package let audiences: [String]
  /// Where the caller may have people sent back to by providers, and by mailed links, byte for byte.
  package let redirectURIs: [String]
  /// Digest of the person's browser session or device as the caller named it.
  package let binding: Digest?
  package let idempotency: IdempotencyClaim?
  package let ipAddress: String
  package let userAgent: String
  package let deviceID: String
  /// Commit against cancellation; one for the call.
  package let fate: Fate

  package init(
    caller: CallerName, mayFetchByEmail: Bool, mayMerge: Bool = false, callerIdentified: Bool, audiences: [String],
    redirectURIs: [String] = [], binding: Digest? = nil,
    idempotency: IdempotencyClaim? = nil, ipAddress: String = "", userAgent: String = "", deviceID: String = "",
    fate: Fate = Fate()
  ) {
    self.caller = caller
    self.mayFetchByEmail = mayFetchByEmail
    self.mayMerge = mayMerge
    self.callerIdentified = callerIdentified
    precondition(!audiences.isEmpty, "a session is issued for somebody")
    self.audiences = audiences
    self.redirectURIs = redirectURIs
    self.binding = binding
    self.idempotency = idempotency
    self.ipAddress = ipAddress
    self.userAgent = userAgent
    self.deviceID = deviceID
    self.fate = fate
  }
}

extension CallFacts {
  /// What the tokens of a session opened by this call are issued for.
  package var audience: String { audiences[0] }

  /// RFC 9700, 2.1: exact comparison, and of bytes: two texts that Unicode calls equal are two addresses.
  func requireRedirect(_ uri: String, field: String) throws(Failure) {
    guard redirectURIs.contains(where: { $0.utf8.elementsEqual(uri.utf8) }) else {
      throw Failure(.redirectURINotAllowed, field: field, hint: "It is not on this caller's list, byte for byte.")
    }
  }
}

/// The idempotency key of a call, as keyed digests (HMAC) that say nothing to who reads the table.
package struct IdempotencyClaim: Hashable, Sendable {
  package var key: Digest
  package var request: Digest

  package init(key: Digest, request: Digest) {
    self.key = key
    self.request = request
  }
}
