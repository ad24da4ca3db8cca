import Store

/// What the rules of section 3 make of a verified credential and the records it met. Pure: nothing is loaded, written
/// or drawn here.
enum SignInDecision: Hashable, Sendable {
  case refuse(Failure)
  indirect case open(Opening)
  /// The assertion is held for the account found.
  indirect case accountExists(Conflict)
  /// S11: what was to be done is held, and decided again once the factor has passed.
  indirect case secondFactorRequired(AccountState)
  /// The password that was checked is not the account's any more.
  case checkAgain
}

/// A session to be opened, with the writes that come before it in the same transaction.
struct Opening: Hashable, Sendable {
  /// The account as it will be.
  var state: AccountState
  var writes: [Write]
  var notes: [AuditNote] = []
  var isNewAccount = false
  var revokedProviderIDs: [String] = []
  /// The account that the address was claimed from, as it will be.
  @Held var detached: AccountState?
}

/// An address that another account owns.
struct Conflict: Hashable, Sendable {
  var owner: AccountState
  /// The ways in that can complete the held credential.
  var ways: WaysIn
  var reason = AccountExists.Reason.none
  var canClaimAddress = false
}

extension Failure {
  static let userIsDisabled = Failure(.userDisabled, hint: "An administrator disabled this account.")
  static let wrongPassword = Failure(.invalidLoginCredentials, field: "credential")
  static let noAccountYet = Failure(.accountNotFound, hint: "Nobody has signed in with this credential before.")
  static let tokenWasSpent = Failure(
    .missingOrInvalidNonce, field: "credential", hint: "The token was used before; get a new one.")
  static func notEnabled(_ method: String) -> Failure {
    Failure(.operationNotAllowed, field: "credential", hint: "This way in is not enabled.", debug: method)
  }
}
