package import Store

package struct ProvisionAccountRequest: Hashable, Sendable {
  /// Everything about the account but its password, which is not hashed yet.
  package var row: ImportRow
  /// In NFKC; nil: none.
  package var password: String?

  package init(row: ImportRow, password: String? = nil) {
    self.row = row
    self.password = password
  }
}

/// Creates an account for a user, at an administrator's request. No session is opened.
package struct ProvisionAccount: Sendable {
  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ request: ProvisionAccountRequest, _ call: CallFacts) async throws -> AccountState {
    var row = request.row
    if let password = request.password {
      guard row.email != nil else { throw Failure.passwordNeedsEmail(field: "email") }
      row.passwordHash = try await environment.hashNew(password, field: "password", call: call)
    }
    if !row.customClaimsJSON.isEmpty {
      try environment.tokens.validateCustomClaims(row.customClaimsJSON, field: "custom_claims_json")
    }
    let ids = environment.ids
    let newID = row.id ?? ids.account()
    var query = Query()
    query.accountID = row.id
    query.email = row.email
    query.phoneNumber = row.phoneNumber
    return try await environment.decideAndCommit(query, try await environment.load(query), call: call) {
      [row] facts, now in
      let decision = ImportDecision(
        row: row, now: now, factorsMax: environment.policy.factorsMax,
        identitiesPerProviderMax: environment.policy.identitiesPerProviderMax, newID: newID,
        newFactorID: { ids.factor() }, seal: environment.sealPasskey)
      let owners = ImportDecision.Owners(
        account: facts.account, closed: facts.closedAccount, emailOwner: facts.emailOwner, phoneOwner: facts.phoneOwner)
      switch decision.provision(owners) {
      case .failure(let failure): return .refuse(failure)
      case .success(let state):
        let note = AuditNote(.accountCreated, accountID: newID, details: ProvisionAccount.details(state.account))
        return .commit(Change(state.insertWrites + [environment.audit(note, call: call, now: now)]), state)
      }
    }
  }

  /// The method that the account begins with, if there is one, as in the event of a user's own sign-up.
  private static func details(_ account: AccountRecord) -> [String: String] {
    var details = AdminDecision.byAdministrator
    if account.passwordHash != nil {
      details["provider_id"] = SignInMethods.password
    } else if account.phoneNumber != nil {
      details["provider_id"] = SignInMethods.phone
    }
    return details
  }
}

extension ImportDecision {
  /// Decides CreateAccount. Unlike an import, an account that is there already is always a conflict.
  func provision(_ owners: Owners) -> Result<AccountState, Failure> {
    if let failure = shape { return .failure(failure) }
    if owners.account != nil || owners.idIsClosed {
      return .failure(
        Failure(
          .accountIDInUse, field: "account_id",
          hint: owners.idIsClosed
            ? "A removed account had this id. Call ForgetAccount first." : "An account with this id exists."))
    }
    if owners.emailOwner != nil {
      return .failure(
        Failure(.emailAlreadyInUse, field: "email", hint: "Another account uses this email address."))
    }
    if owners.phoneOwner != nil { return .failure(.phoneNumberIsTaken(field: "phone_number")) }
    return .success(made(after: owners.closed))
  }
}

extension Failure {
  static func passwordNeedsEmail(field: String) -> Failure {
    Failure(.invalidField, field: field, hint: "An account with a password needs an email address.")
  }

  static func phoneNumberIsTaken(field: String) -> Failure {
    Failure(.providerAlreadyLinked, field: field, hint: "Another account has this phone number.")
  }
}
