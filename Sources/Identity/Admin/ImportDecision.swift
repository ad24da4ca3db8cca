import Store

/// Whether a row becomes an account, and which.
struct ImportDecision: Sendable {
  let row: ImportRow
  let now: Timestamp
  let factorsMax: Int
  /// Of a row that brings none.
  let newID: String
  let newFactorID: @Sendable () -> String

  enum Outcome: Hashable, Sendable {
    case insert(AccountState)
    case unchanged
    case refuse(Failure)
  }

  /// What is stored under the names of a row.
  struct Owners: Hashable, Sendable {
    var account: AccountState?
    /// The row's id was an account's that was removed.
    var idIsClosed = false
    var emailOwner: AccountState?
    var phoneOwner: AccountState?
    /// Of its identities, those that somebody has.
    var identityOwners: [IdentityKey: AccountState] = [:]
  }

  func decide(_ owners: Owners) -> Outcome {
    if let failure = shape { return .refuse(failure) }
    if owners.idIsClosed {
      return .refuse(Failure(.invalidField, field: "account_id", hint: "The account of this id was removed."))
    }
    if let there = there(owners) { return isSaid(by: there) ? .unchanged : .refuse(taken(there, owners)) }
    if owners.emailOwner != nil {
      return .refuse(Failure(.emailAlreadyInUse, field: "email", hint: "Another account has this address."))
    }
    if owners.phoneOwner != nil {
      return .refuse(Failure(.providerAlreadyLinked, field: "phone_number", hint: "Another account has this number."))
    }
    if !owners.identityOwners.isEmpty {
      return .refuse(Failure(.providerAlreadyLinked, field: "providers", hint: "Another account has this identity."))
    }
    return .insert(made)
  }

  /// What no store has to be asked for.
  private var shape: Failure? {
    if let id = row.id, !Ids.isAccountID(id) {
      return Failure(.invalidField, field: "account_id", hint: "1 to 128 printable ASCII characters.")
    }
    if row.passwordHash != nil, row.email == nil {
      return Failure(.invalidField, field: "email", hint: "Who has a password signs in by an address.")
    }
    if row.phoneFactors.count > factorsMax {
      return Failure(.invalidField, field: "phone_factors", hint: "At most \(factorsMax).")
    }
    let factorIDs = row.phoneFactors.compactMap(\.id)
    guard Set(factorIDs).count == factorIDs.count else {
      return Failure(.invalidField, field: "phone_factors", hint: "Two of them have the same id.")
    }
    guard Set(row.phoneFactors.map(\.phoneNumber)).count == row.phoneFactors.count else {
      return Failure(.invalidField, field: "phone_factors", hint: "Two of them have the same number.")
    }
    // As L3 has it: Unlink would take one away, and the other would go on signing in.
    guard Set(row.identities.map(\.key.providerID)).count == row.identities.count else {
      return Failure(.invalidField, field: "providers", hint: "Two of them are of one provider.")
    }
    let moments = [("created_at", row.createdAt), ("last_sign_in_at", row.lastSignInAt)]
      + row.phoneFactors.map { ("phone_factors", $0.enrolledAt) }
    for (field, moment) in moments {
      if let moment, moment > now || moment.millis < 0 {
        return Failure(.invalidField, field: field, hint: "It lies in the future, or before 1970.")
      }
    }
    return nil
  }

  /// The account that the row is about, if an earlier run made it. A row without an id is known by its other names.
  private func there(_ owners: Owners) -> AccountState? {
    row.id == nil ? owners.emailOwner ?? owners.phoneOwner ?? owners.identityOwners.values.first : owners.account
  }

  private func taken(_ there: AccountState, _ owners: Owners) -> Failure {
    guard row.id == nil else {
      return Failure(
        .invalidField, field: "account_id", hint: "An account with this id is there, and is not as the row says.")
    }
    return owners.emailOwner != nil
      ? Failure(.emailAlreadyInUse, field: "email", hint: "Another account has this address.")
      : Failure(.providerAlreadyLinked, field: "providers", hint: "Another account has this number or identity.")
  }

  // MARK: the account

  /// The former service's word is an administrator's: it proves the address of the account, but it is no assertion of
  /// the providers, whose identities vouch for no address until their next sign-in.
  private var made: AccountState {
    let id = row.id ?? newID
    var account = AccountRecord(id: id, createdAt: row.createdAt ?? now)
    account.email = row.email
    account.emailProof = row.email != nil && row.emailVerified ? .administrator : nil
    account.emailSource = emailSource
    account.phoneNumber = row.phoneNumber
    account.phoneNumberSetAt = row.phoneNumber == nil ? nil : account.createdAt
    account.displayName = row.displayName
    account.photoURL = row.photoURL
    account.customClaimsJSON = row.customClaimsJSON
    account.passwordHash = row.passwordHash
    account.passwordSetAt = row.passwordHash == nil ? nil : account.createdAt
    account.disabled = row.disabled
    account.madeByAdministrator = true
    account.lastSignInAt = row.lastSignInAt
    return AccountState(account: account, identities: identities(of: account), factors: factors(of: account))
  }

  private var emailSource: String? {
    guard let email = row.email else { return nil }
    return row.passwordHash != nil ? WaysIn.password : row.identities.first { $0.email == email }?.key.providerID
  }

  private func identities(of account: AccountRecord) -> [IdentityRecord] {
    row.identities.map { identity in
      IdentityRecord(
        assertion: Assertion(
          identity: identity.key, email: identity.email, displayName: identity.displayName,
          photoURL: identity.photoURL),
        accountID: account.id, linkedAt: account.createdAt)
    }
  }

  private func factors(of account: AccountRecord) -> [FactorRecord] {
    row.phoneFactors.map { factor in
      FactorRecord(
        id: factor.id ?? newFactorID(), accountID: account.id, kind: .phone, displayName: factor.displayName,
        phoneNumber: factor.phoneNumber, enrolledAt: factor.enrolledAt ?? account.createdAt)
    }
  }

  // MARK: there already

  /// Whether an account is what this row made of it. What a sign-in changes by itself is no difference: the moment of
  /// the last one, and a hash of ours in place of the former service's.
  private func isSaid(by there: AccountState) -> Bool {
    var (found, said) = (there.account, made.account)
    if row.id == nil { said.id = found.id }
    if row.createdAt == nil {
      said.createdAt = found.createdAt
      said.passwordSetAt = found.passwordSetAt
      said.phoneNumberSetAt = found.phoneNumberSetAt
    }
    if let last = found.lastSignInAt, last >= said.lastSignInAt ?? last {
      said.lastSignInAt = last
      if said.passwordHash != nil, found.passwordHash?.hasPrefix("$argon2id$") == true {
        said.passwordHash = found.passwordHash
      }
    }
    found.version = said.version
    return found == said && Set(there.identities.map(\.key)) == Set(row.identities.map(\.key))
      && there.factors.map(\.phoneNumber).sorted() == row.phoneFactors.map(\.phoneNumber).sorted()
  }
}

extension [String?] {
  fileprivate func sorted() -> [String] { compactMap(\.self).sorted() }
}

extension AccountState {
  /// What makes it of nothing.
  var insertWrites: [Write] {
    [.insertAccount(account)] + identities.map(Write.insertIdentity) + factors.map(Write.insertFactor)
  }
}
