import Store

/// The result of the rules of section 3 for a verified credential and the loaded records.
///
/// Pure: a decision loads nothing, writes nothing and draws no random values.
enum SignInDecision: Hashable, Sendable {
  case refuse(Failure)
  indirect case open(Opening)
  /// The assertion becomes a pending credential of the account found.
  indirect case accountExists(Conflict)
  /// S11: the call becomes pending, and is decided again after the factor passes.
  indirect case secondFactorRequired(AccountState)
  /// The account's password changed after the check.
  case checkAgain
}

/// The decisions about a verified assertion: `federated` and `byCode`.
struct AssertionDecision: Sendable {
  var assertion: Assertion
  var existingOnly = false
  var claimAddress = false
  /// Whether the assertion passes both factors (P11).
  var verifiesUser = false
  /// The account whose second factor this call verified.
  var passedFor: String?
  var policy: Policy
  var now: Timestamp
  /// Generates the id of a new account.
  var newAccountID: @Sendable () -> String

  var providerID: String { assertion.identity.providerID }
}

/// A session to open, with the writes that precede it in the same transaction.
struct Opening: Hashable, Sendable {
  /// The account after the writes.
  var state: AccountState
  var writes: [Write]
  var notes: [AuditNote] = []
  var isNewAccount = false
  var revokedProviderIDs: [String] = []
  /// The account that loses its email address to a claim, after the writes.
  @Held var detached: AccountState?
}

/// An email address that belongs to another account.
struct Conflict: Hashable, Sendable {
  var owner: AccountState
  /// The sign-in methods that can complete the pending credential.
  var ways: SignInMethods
  var reason = AccountExists.Reason.none
  var canClaimAddress = false
}

extension Failure {
  static let userIsDisabled = Failure(.userDisabled, hint: "An administrator disabled this account.")
  static let wrongPassword = Failure(.invalidLoginCredentials, field: "credential")
  static let noAccountYet = Failure(.accountNotFound, hint: "No account has this credential; sign up first.")
  static let tokenWasSpent = Failure(
    .missingOrInvalidNonce, field: "credential", hint: "The token was already used; get a new one.")
  static let passwordNotEnabled = notEnabled(SignInMethods.password, field: "credential.password")
  static let anonymousNotEnabled = notEnabled("anonymous", field: "credential.anonymous")
  static let phoneNotEnabled = notEnabled(SignInMethods.phone, field: "credential.phone_code")
  static func emailCodeNotEnabled(field: String) -> Failure { notEnabled(SignInMethods.emailCode, field: field) }
  static let emailLinkNotEnabled = notEnabled(SignInMethods.emailLink, field: "credential.email_link")
  static func notEnabled(_ method: String, field: String = "credential") -> Failure {
    Failure(.operationNotAllowed, field: field, hint: "This sign-in method is not enabled.", debug: method)
  }
}
