/// The parts of a response that workloads check.
enum Answer: Equatable {
  case connected(resumed: Bool)
  case serving(Bool)
  case ways(registered: Bool, methods: [String], held: Held?)
  case session(SessionFacts)
  case accountExists(email: String, pendingToken: String)
  case secondFactorRequired(pendingToken: String, factors: [FactorFacts])
  case account(AccountFacts)
  /// The result of a merge; without a session if there are conflicts.
  case merged(SessionFacts?, closedAccountID: String)
  case verdict(active: Bool, accountID: String, reason: String)
  case closed(sessions: Int)
  case sessions([ListedSession])
  case signingKeys(count: Int)
  case providers([String])
  case flow(id: String, url: String)
  case enrolling(id: String, secret: String)
  case enrolled(SessionFacts, recoveryCodes: Int)
  /// The start of a verification by code. Only verifications by phone have an ID.
  case begun(verificationID: String, expiresAtMillis: Int64)
  case page(accountIDs: [String], nextToken: String)
  case customToken(String)
  case factorsRemoved(count: Int, of: AccountFacts)
  case imported(ImportFacts)
  case exported(accounts: Int, whole: Int)
  case event(EventFacts)
  /// An expected error, with its reason.
  case refused(String)
  /// An empty response.
  case done
  /// The name of an outcome that no workload expects.
  case other(String)
}

struct Held: Equatable {
  var providerID: String
  var email: String
}

struct SessionFacts: Equatable {
  var id = ""
  var idToken: String
  var refreshToken: String
  var account: AccountFacts
  var isNew: Bool
}

struct AccountFacts: Equatable {
  var id: String
  var email: String
  var isAnonymous: Bool
  var providerIDs: [String]
  var displayName = ""
  var isDisabled = false
  var claimsJSON = ""
  var factors: [FactorFacts] = []
}

struct FactorFacts: Equatable {
  var id: String
  var kind: String
}

struct ListedSession: Equatable {
  var id: String
  var isCurrent: Bool
}

struct ImportFacts: Equatable {
  var imported: Int
  var unchanged: Int
  /// The reasons of rejected rows.
  var reasons: [String]
}

/// A cursor with its event; the event is empty for a heartbeat.
struct EventFacts: Equatable {
  var cursor: String
  var type = ""
  var accountID = ""
}
