import Identity
import Store

extension World {
  func signIn(
    _ assertion: Assertion, pendingToken: String = "", existingOnly: Bool = false, claimAddress: Bool = false,
    _ call: CallFacts? = nil
  ) async throws -> SignInAnswer {
    let request = SignInRequest(
      credential: .providerToken(providers.token(assertion)), pendingToken: pendingToken, existingOnly: existingOnly,
      claimAddress: claimAddress)
    return try await SignIn(environment)(request, call ?? self.call())
  }

  func signIn(
    _ credential: Credential, pendingToken: String = "", existingOnly: Bool = false, _ call: CallFacts? = nil
  ) async throws -> SignInAnswer {
    let request = SignInRequest(credential: credential, pendingToken: pendingToken, existingOnly: existingOnly)
    return try await SignIn(environment)(request, call ?? self.call())
  }

  /// Whether `body` wrote nothing except counts of attempts.
  func untouched(_ body: () async -> Void) async -> Bool {
    let before = store.contents.uncounted
    await body()
    return store.contents.uncounted == before
  }
}

/// The password of every account that `account` makes with one.
let rightPassword = Credential.password(email: ada, password: "correct horse")

extension SignInAnswer {
  var grant: SessionGrant {
    get throws { if case .session(let grant) = self { grant } else { throw UnexpectedAnswer(text: "\(self)") } }
  }
  var exists: AccountExists {
    get throws { if case .accountExists(let exists) = self { exists } else { throw UnexpectedAnswer(text: "\(self)") } }
  }
  var required: SecondFactorRequired {
    get throws {
      if case .secondFactorRequired(let required) = self { required } else { throw UnexpectedAnswer(text: "\(self)") }
    }
  }
}
