/// What an answer says, as far as anybody looks at it. Copied out, because the message is gone when the completion
/// returns.
enum Answer: Equatable {
  case connected(resumed: Bool)
  case serving(Bool)
  case ways(registered: Bool, methods: [String], held: Held?)
  case session(SessionFacts)
  case accountExists(email: String, pendingToken: String)
  case secondFactorRequired(pendingToken: String, factors: [FactorFacts])
  case account(AccountFacts)
  /// Without a session where there are conflicts.
  case merged(SessionFacts?, closedAccountID: String)
  case verdict(active: Bool, accountID: String, reason: String)
  case closed(sessions: Int)
  case sessions([ListedSession])
  case signingKeys(count: Int)
  case providers([String])
  case flow(id: String, url: String)
  case enrolling(id: String, secret: String)
  case enrolled(SessionFacts, recoveryCodes: Int)
  /// Something that a code ends; only one that went to a telephone has an id.
  case begun(verificationID: String, expiresAtMillis: Int64)
  case page(accountIDs: [String], nextToken: String)
  case customToken(String)
  case factorsRemoved(count: Int, of: AccountFacts)
  case imported(ImportFacts)
  case exported(accounts: Int, whole: Int)
  case event(EventFacts)
  /// With the reason with which the call was to be refused.
  case refused(String)
  /// An answer without a field.
  case done
  /// An outcome that no workload waits for, by its name.
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
  /// Why rows were refused.
  var reasons: [String]
}

/// Where to go on, and what has happened, if anything has.
struct EventFacts: Equatable {
  var cursor: String
  var type = ""
  var accountID = ""
}
