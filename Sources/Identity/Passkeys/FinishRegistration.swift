package import Store

package struct FinishRegistrationRequest: Hashable, Sendable {
  package var idToken: String
  package var response: PasskeyResponse

  package init(idToken: String, response: PasskeyResponse) {
    self.idToken = idToken
    self.response = response
  }
}

package enum FinishedRegistration: Hashable, Sendable {
  case session(SessionGrant, IdentityRecord)
  case secondFactorRequired(SecondFactorRequired)

  package var outcome: CallOutcome {
    switch self {
    case .session(let grant, _): grant.outcome
    case .secondFactorRequired: .secondFactor
    }
  }
}

/// Adds a registered passkey to the account of an ID token (P5): a Link, whose answer also shows the passkey.
package struct FinishRegistration: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ request: FinishRegistrationRequest, _ call: CallFacts) async throws
    -> FinishedRegistration
  {
    let link = Link(environment, isRegistration: true)
    switch try await link(LinkRequest(idToken: request.idToken, credential: .passkey(request.response)), call) {
    case .secondFactorRequired(let required): return .secondFactorRequired(required)
    case .credentialInUse: throw Failure.passkeyExists
    case .session(let grant, _):
      // The newest one. After a repeat, it may have been removed.
      guard let passkey = grant.account.passkeys.last else { throw Failure.noSuchPasskey }
      return .session(grant, passkey)
    }
  }
}
