import Store

/// Returns the sign-in methods of the owner of an email address.
package struct FetchByEmail: Sendable {
  private let environment: Environment
  /// nil: the caller may not look up email addresses. Every address then gets the same answer without a lookup, so
  /// that the response time reveals nothing (check 36).
  private let query: SignInMethodsQuery?

  package init(_ environment: Environment, _ email: String, _ call: CallFacts) {
    self.environment = environment
    query =
      environment.mayLookUpEmail(call)
      ? SignInMethodsQuery(email: email, includesLinkedEmail: environment.policy.oneAccountPerEmail) : nil
  }

  /// Answers without waiting. Returns nil if the store has to wait.
  package func now() throws -> ProvidersAnswer? {
    guard let query else { return ProvidersAnswer() }
    do {
      return try environment.store.now(query).map(answer)
    } catch let error as StoreError {
      throw Failure(storeError: error)
    }
  }

  package func callAsFunction() async throws -> ProvidersAnswer {
    guard let query else { return ProvidersAnswer() }
    do {
      return answer(try await environment.store.load(query))
    } catch let error as StoreError {
      throw Failure(storeError: error)
    }
  }

  private func answer(_ record: SignInMethodsRecord?) -> ProvidersAnswer {
    guard let record else { return ProvidersAnswer() }
    var methods = SignInMethods(record, environment.policy)
    // The user of an imported account may have used only sign-in links, which no export states. A sign-in link works
    // for such an account (section 3.4).
    if methods.isEmpty, record.emailVerified, record.providerIDs.isEmpty {
      methods = SignInMethods(mailboxUnder: environment.policy)
    }
    // In duplicate mode an email address identifies only a password or sign-in link. Other users of the address at a
    // provider stay private.
    if !environment.policy.oneAccountPerEmail {
      methods = methods.only(SignInMethods.mailbox.union([SignInMethods.password]))
    }
    return ProvidersAnswer(methods)
  }
}

extension ProvidersAnswer {
  init(_ methods: SignInMethods) {
    self.init()
    registered = true
    providerIDs = methods.providerIDs
    self.methods = methods.methods
  }
}
