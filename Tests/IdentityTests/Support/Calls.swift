import Store
import Testing

@testable import Identity

/// Runs a call that must fail, and returns the failure so that a test can check its details.
@discardableResult
func refused<R>(
  _ reason: Failure.Reason, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> R
) async -> Failure? {
  do {
    let answer = try await body()
    Issue.record("answered instead of \(reason.rawValue): \(answer)", sourceLocation: sourceLocation)
    return nil
  } catch let failure as Failure {
    #expect(failure.reason == reason, sourceLocation: sourceLocation)
    return failure
  } catch {
    Issue.record(error, sourceLocation: sourceLocation)
    return nil
  }
}

extension World {
  func link(_ assertion: Assertion, _ session: SessionGrant, _ call: CallFacts? = nil) async throws -> LinkAnswer {
    try await link(.providerToken(providers.token(assertion)), session, call)
  }

  func link(_ credential: Credential, _ session: SessionGrant, _ call: CallFacts? = nil) async throws -> LinkAnswer {
    try await Link(environment)(LinkRequest(idToken: session.idToken, credential: credential), call ?? self.call())
  }

  /// A custom token that an administrator has minted.
  func customToken(for accountID: String) async throws -> String {
    try await CreateCustomToken(environment)(CreateCustomTokenRequest(accountID: accountID), call()).customToken
  }

  func unlink(
    _ providerID: String, subject: String = "", _ session: SessionGrant, _ call: CallFacts? = nil
  ) async throws -> SessionGrant {
    try await Unlink(environment)(
      UnlinkRequest(idToken: session.idToken, providerID: providerID, subject: subject), call ?? self.call())
  }

  func reauthenticate(
    _ credential: Credential, _ session: SessionGrant, _ call: CallFacts? = nil
  ) async throws -> ReauthenticateAnswer {
    try await Reauthenticate(environment)(
      ReauthenticateRequest(idToken: session.idToken, credential: credential), call ?? self.call())
  }

  /// Inserts a pending assertion into the store, and returns its handle.
  func hold(
    _ assertion: Assertion, for accountID: String, purpose: PendingPurpose = .link, _ call: CallFacts? = nil
  ) -> String {
    let held = PendingAssertion(assertion, firstFactor: .provider(assertion.identity.providerID))
    let pending = environment.hold(held, purpose: purpose, accountID: accountID, call: call ?? self.call(), now: now)
    store.edit { $0.pendings[pending.record.digest] = pending.record }
    return pending.handle
  }

  func row(_ handle: String) throws -> PendingRecord? {
    store.contents.pendings[try environment.pendingDigest(handle)]
  }

  func claims(_ grant: SessionGrant) throws -> IDToken { try tokens.verifyIDToken(grant.idToken, at: now) }
}

// MARK: Answers of an expected kind

extension LinkAnswer {
  var grant: SessionGrant {
    get throws { if case .session(let grant, _) = self { grant } else { throw UnexpectedAnswer(text: "\(self)") } }
  }
  var inUse: CredentialInUse {
    get throws { if case .credentialInUse(let inUse) = self { inUse } else { throw UnexpectedAnswer(text: "\(self)") } }
  }
  var required: SecondFactorRequired {
    get throws {
      if case .secondFactorRequired(let required) = self { required } else { throw UnexpectedAnswer(text: "\(self)") }
    }
  }
}

extension CreateAnswer {
  var grant: SessionGrant {
    get throws { if case .session(let grant) = self { grant } else { throw UnexpectedAnswer(text: "\(self)") } }
  }
}

extension ReauthenticateAnswer {
  var grant: SessionGrant {
    get throws { if case .session(let grant) = self { grant } else { throw UnexpectedAnswer(text: "\(self)") } }
  }
  var required: SecondFactorRequired {
    get throws {
      if case .secondFactorRequired(let required) = self { required } else { throw UnexpectedAnswer(text: "\(self)") }
    }
  }
}

struct UnexpectedAnswer: Error { var text: String }
