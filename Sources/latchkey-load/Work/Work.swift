internal import Reactor

/// One iteration of a workload, without I/O: decides which call comes next and checks each response.
protocol Work {
  /// Returns the next step.
  ///
  /// - Parameter answer: nil at first, then the response of each call. Only status OK and expected errors reach this
  ///   method.
  mutating func next(_ answer: Answer?, nowNanos: Int64) -> Step
}

enum Step {
  case call(Call)
  case done
  /// The response is incorrect.
  case wrong(String)
}

extension Answer {
  /// The step for a response that the call cannot have.
  var surprise: Step {
    switch self {
    case .other(let outcome): .wrong("the outcome \(outcome)")
    case .accountExists: .wrong("the outcome account_exists")
    case .secondFactorRequired: .wrong("the outcome second_factor_required")
    default: .wrong("an outcome that the call cannot have")
    }
  }
}

extension Answer {
  /// Checks that a verification by code has begun. Only a verification by phone has an ID.
  func begun(withID: Bool) -> Step {
    guard case .begun(let verificationID, let expiresAtMillis) = self else { return surprise }
    guard verificationID.isEmpty != withID else { return .wrong(withID ? "no ID" : "an ID without a phone") }
    return expiresAtMillis > wallMillis() ? .done : .wrong("the verification has expired already")
  }
}

extension SessionFacts {
  /// Returns what is wrong with a session of the account, or nil if nothing is.
  func flaw(of accountID: String?) -> String? {
    if idToken.isEmpty { return "the session has no ID token" }
    if refreshToken.isEmpty { return "the session has no refresh token" }
    if account.id.isEmpty { return "the session has no account" }
    if let accountID, account.id != accountID { return "the session is of another account" }
    return nil
  }
}
