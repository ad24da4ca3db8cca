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
  static let passwordNotEnabled = notEnabled(WaysIn.password, field: "credential.password")
  static let anonymousNotEnabled = notEnabled("anonymous", field: "credential.anonymous")
  static let phoneNotEnabled = notEnabled(WaysIn.phone, field: "credential.phone_code")
  static let emailLinkNotEnabled = notEnabled(WaysIn.emailLink, field: "credential.email_link")
  static func notEnabled(_ method: String, field: String = "credential") -> Failure {
    Failure(.operationNotAllowed, field: field, hint: "This sign-in method is not enabled.", debug: method)
  }
}
