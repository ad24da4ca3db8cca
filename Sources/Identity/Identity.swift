// Identity: the rules of sign-in, account linking and sessions.
//
// Owns: what every call means. Decisions are pure functions of loaded records, the facts of the request, the policy and
// the time. Use cases load, decide and commit. After a lost race, they decide again on newer records.
// Does not own: wire messages (Services), storage (Store), hashing, signatures and providers (Ports.swift has the
// protocols), caller authentication and caller rights (Callers).
// Comments cite sections, steps and rows (S1, L1) of proto/SEMANTICS.md, and checks of Tests/Scenarios/CHECKS.md.
// Read next: Failure.swift and Policy.swift, then SignIn/SignInDecision.swift with its tables in Tests/IdentityTests.

package import Store

/// Facts of one call other than its credential, settled before a use case starts.
///
/// A class, because each use case passes it on several times.
package final class CallFacts: Sendable {
  package let caller: CallerName
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

  package init(
    caller: CallerName, mayFetchByEmail: Bool, mayMerge: Bool = false, callerIdentified: Bool, audiences: [String],
    redirectURIs: [String] = [], binding: Digest? = nil,
    idempotency: IdempotencyClaim? = nil, ipAddress: String = "", userAgent: String = "", deviceID: String = "",
    commitDecision: CommitDecision = CommitDecision()
  ) {
    self.caller = caller
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
  package var key: Digest
  package var request: Digest

  package init(key: Digest, request: Digest) {
    self.key = key
    self.request = request
  }
}
