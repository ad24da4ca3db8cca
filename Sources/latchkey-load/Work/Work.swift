internal import Reactor

/// One iteration of a workload as a value that does no I/O: it says which call comes next, looks at the answer, and
/// says whether it holds what it must.
protocol Work {
  /// Called first without an answer, then with the answer of each call; only answers with status OK come here, and the
  /// refusals that calls are made for.
  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step
}

enum Step {
  case call(Call)
  case done
  /// The answer at hand is not what it must be.
  case wrong(String)
}

extension Answer {
  /// For an answer of a kind that the call cannot have.
  var surprise: Step {
    switch self {
    case .other(let outcome): .wrong("the outcome \(outcome)")
    case .accountExists: .wrong("the outcome account_exists")
    case .secondFactorRequired: .wrong("the outcome second_factor_required")
    default: .wrong("an outcome that does not belong to the call")
    }
  }
}

extension Answer {
  /// Whether something has begun that a code ends; one that goes to a telephone has an id.
  func begun(withID: Bool) -> Step {
    guard case .begun(let verificationID, let expiresAtMillis) = self else { return surprise }
    guard verificationID.isEmpty != withID else { return .wrong(withID ? "no id" : "an id that only a telephone has") }
    return expiresAtMillis > wallMillis() ? .done : .wrong("what has begun has expired already")
  }
}

extension SessionFacts {
  /// What is wrong with a session that should be of this account; nil: nothing.
  func flaw(of accountID: String?) -> String? {
    if idToken.isEmpty { return "a session without an ID token" }
    if refreshToken.isEmpty { return "a session without a refresh token" }
    if account.id.isEmpty { return "a session without an account" }
    if let accountID, account.id != accountID { return "a session of another account" }
    return nil
  }
}
