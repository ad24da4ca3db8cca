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
    switch try await link(request, call) {
    case .secondFactorRequired(let required): return .secondFactorRequired(required)
    case .credentialInUse: throw Failure.passkeyExists
    case .session(let grant, _):
      // After a repeat, it may have been removed.
      let id = environment.passkeyID(of: try environment.passkeys.credentialID(in: request.response.credentialJSON))
      guard let passkey = grant.account.passkey(id) else { throw Failure.noSuchPasskey }
      return .session(grant, passkey)
    }
  }

  /// Calls Link, whose request has other fields.
  private func link(_ request: FinishRegistrationRequest, _ call: CallFacts) async throws -> LinkAnswer {
    do {
      let asked = LinkRequest(idToken: request.idToken, credential: .passkey(request.response))
      return try await Link(environment, isRegistration: true)(asked, call)
    } catch var failure as Failure where failure.field?.hasPrefix("credential") ?? false {
      failure.field = failure.isOfChallenge ? "registration_id" : "credential_json"
      throw failure
    }
  }
}

extension Failure {
  fileprivate var isOfChallenge: Bool {
    [.pendingCredentialMismatch, .pendingCredentialExpired, .pendingCredentialUsed].contains(reason)
  }
}
