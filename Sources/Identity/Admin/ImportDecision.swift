import Store

/// Decision whether a row becomes an account, and which.
struct ImportDecision: Sendable {
  let row: ImportRow
  let now: Timestamp
  let factorsMax: Int
  let identitiesPerProviderMax: Int
  /// Id for a row that has none.
  let newID: String
  let newFactorID: @Sendable () -> String
  let seal: @Sendable (Passkey, FactorRecord) -> [UInt8]

  enum Outcome: Hashable, Sendable {
    case insert(AccountState)
    case unchanged
    case refuse(Failure)
  }

  /// Accounts that are stored under the identifiers of a row.
  struct Owners: Hashable, Sendable {
    var account: AccountState?
    /// What remains of a removed account with the row's id.
    var closed: ClosedAccountRecord?
    var emailOwner: AccountState?
    var phoneOwner: AccountState?
    /// Owners of those identities of the row that an account already has.
    var identityOwners: [IdentityKey: AccountState] = [:]

    /// Whether the row's id belonged to a removed account, and no administrator has freed it.
    var idIsClosed: Bool { closed.map { $0.forgottenAt == nil } ?? false }
  }

  func decide(_ owners: Owners) -> Outcome {
    if let failure = shape { return .refuse(failure) }
    if owners.idIsClosed {
      return .refuse(Failure(.invalidField, field: "account_id", hint: "The account with this id was removed."))
    }
    if let there = there(owners) { return isSaid(by: there) ? .unchanged : .refuse(taken(there, owners)) }
    if owners.emailOwner != nil {
      return .refuse(Failure(.emailAlreadyInUse, field: "email", hint: "Another account has this email address."))
    }
    if owners.phoneOwner != nil {
      return .refuse(
        Failure(.providerAlreadyLinked, field: "phone_number", hint: "Another account has this phone number."))
    }
    if !owners.identityOwners.isEmpty {
      return .refuse(Failure(.providerAlreadyLinked, field: "providers", hint: "Another account has this identity."))
    }
    return .insert(made(after: owners.closed))
  }

  /// Failure that no look-up is needed for, or nil.
  var shape: Failure? {
    if let id = row.id, !Ids.isAccountID(id) {
      return Failure(.invalidField, field: "account_id", hint: "Use 1 to 128 printable ASCII characters.")
    }
    if row.passwordHash != nil, row.email == nil {
      return Failure(.invalidField, field: "email", hint: "An account with a password needs an email address.")
    }
    if let failure = shapeOfFactors { return failure }
    guard Set(row.identities.map(\.key)).count == row.identities.count else {
      return Failure(.invalidField, field: "providers", hint: "Give each identity once.")
    }
    // L3.
    let others = row.identities.filter { $0.passkey == nil }
    let counts = Dictionary(grouping: others, by: \.key.providerID).values.map(\.count)
    guard counts.allSatisfy({ $0 <= identitiesPerProviderMax }) else {
      return Failure(
        .invalidField, field: "providers", hint: "Use at most \(identitiesPerProviderMax) of each provider.")
    }
    let moments = [("created_at", row.createdAt), ("last_sign_in_at", row.lastSignInAt)]
      + row.phoneFactors.map { ("phone_factors", $0.enrolledAt) }
      + row.passkeyFactors.map { ("passkey_factors", $0.enrolledAt) }
    for (field, moment) in moments {
      if let moment, moment > now || moment.millis < 0 {
        return Failure(.invalidField, field: field, hint: "Use a time between 1970 and now.")
      }
    }
    return nil
  }

  private var shapeOfFactors: Failure? {
    func invalid(_ field: String, _ hint: String) -> Failure { Failure(.invalidField, field: field, hint: hint) }
    let field = row.phoneFactors.count > factorsMax || row.passkeyFactors.isEmpty ? "phone_factors" : "passkey_factors"
    guard row.phoneFactors.count + row.passkeyFactors.count <= factorsMax else {
      return invalid(field, "Use at most \(factorsMax) factors.")
    }
    let factorIDs = row.phoneFactors.compactMap(\.id) + row.passkeyFactors.compactMap(\.id)
    guard Set(factorIDs).count == factorIDs.count else { return invalid(field, "Give each factor a different id.") }
    guard Set(row.phoneFactors.map(\.phoneNumber)).count == row.phoneFactors.count else {
      return invalid("phone_factors", "Give each phone factor a different number.")
    }
    // A passkey either signs in or is a factor.
    let credentialIDs =
      row.passkeyFactors.map(\.passkey.credentialID) + row.identities.compactMap(\.passkey?.credentialID)
    guard Set(credentialIDs).count == credentialIDs.count else {
      return invalid("passkey_factors", "Give each passkey once.")
    }
    return nil
  }

  /// Returns the account that an earlier run made of the row. A row without an id is found by its other identifiers.
  private func there(_ owners: Owners) -> AccountState? {
    row.id == nil ? owners.emailOwner ?? owners.phoneOwner ?? owners.identityOwners.values.first : owners.account
  }

  private func taken(_ there: AccountState, _ owners: Owners) -> Failure {
    guard row.id == nil else {
      return Failure(
        .invalidField, field: "account_id", hint: "An account with this id exists and differs from the row.")
    }
    return owners.emailOwner != nil
      ? Failure(.emailAlreadyInUse, field: "email", hint: "Another account has this email address.")
      : Failure(.providerAlreadyLinked, field: "providers", hint: "Another account has this phone number or identity.")
  }

  // MARK: the account

  /// The account that the row describes.
  ///
  /// A statement of the former service counts like an administrator's. It verifies the email address of the account,
  /// but it is not an assertion of a provider. The identities vouch for no address until their next sign-in.
  ///
  /// - Parameter closed: what remains of an account with the same id, which an administrator has freed. Tokens of that
  ///   account are older than the cut-off of the new one.
  func made(after closed: ClosedAccountRecord? = nil) -> AccountState {
    let id = row.id ?? newID
    var account = AccountRecord(id: id, createdAt: row.createdAt ?? now)
    account.emailAddress = row.email.map { email in
      EmailAddress(email, source: source(of: email), verification: row.emailVerified ? .administrator : nil)
    }
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
    account.customToken = hasUnknownEntrance
    account.tokensValidAfter = closed?.forgottenAt
    return AccountState(account: account, identities: identities(of: account), factors: factors(of: account))
  }

  /// Whether a user has signed in by a way that the row does not contain: a custom token, which Firebase does not
  /// export. Otherwise the owner of an unverified address would get an account that another user has (check 5).
  private var hasUnknownEntrance: Bool {
    row.lastSignInAt != nil && row.email != nil && !row.emailVerified && row.passwordHash == nil
      && row.identities.isEmpty && row.phoneNumber == nil
  }

  private func source(of email: String) -> String? {
    row.passwordHash != nil ? SignInMethods.password : row.identities.first { $0.email == email }?.key.providerID
  }

  private func identities(of account: AccountRecord) -> [IdentityRecord] {
    row.identities.map { identity in
      IdentityRecord(
        assertion: Assertion(
          identity: identity.key, email: identity.email, displayName: identity.displayName,
          photoURL: identity.photoURL, username: identity.passkey?.relyingPartyID ?? "",
          passkey: identity.passkey?.packed),
        accountID: account.id, linkedAt: account.createdAt)
    }
  }

  private func factors(of account: AccountRecord) -> [FactorRecord] {
    row.phoneFactors.map { factor in
      FactorRecord(
        id: factor.id ?? newFactorID(), accountID: account.id, kind: .phone, displayName: factor.displayName,
        phoneNumber: factor.phoneNumber, enrolledAt: factor.enrolledAt ?? account.createdAt)
    }
      + row.passkeyFactors.map { factor in
        var record = FactorRecord(
          id: factor.id ?? newFactorID(), accountID: account.id, kind: .passkey, displayName: factor.displayName,
          enrolledAt: factor.enrolledAt ?? account.createdAt)
        record.sealedSecret = seal(factor.passkey, record)
        return record
      }
  }

  // MARK: comparison with an existing account

  /// Returns whether an account is what this row made of it.
  ///
  /// Ignores what a sign-in changes (`withSignIns`). Of identities it compares the keys alone, because each sign-in
  /// brings their current email address, name and photo.
  private func isSaid(by there: AccountState) -> Bool {
    var (found, said) = (there.account, made().account)
    said.tokensValidAfter = found.tokensValidAfter
    if row.id == nil { said.id = found.id }
    if row.createdAt == nil {
      said.createdAt = found.createdAt
      said.passwordSetAt = found.passwordSetAt
      said.phoneNumberSetAt = found.phoneNumberSetAt
    }
    if let last = found.lastSignInAt, last >= said.lastSignInAt ?? last { said = withSignIns(said, as: found) }
    found.version = said.version
    return found == said && Set(there.identities.map(\.key)) == Set(row.identities.map(\.key))
      && there.factors.map(\.phoneNumber).sorted() == row.phoneFactors.map(\.phoneNumber).sorted()
      && hasPasskeyFactors(there)
  }

  /// Returns the account with the changes that sign-ins since its import have made: the time of the last one, this
  /// service's hash in place of the former service's, further ways to sign in that were used, a verification of the
  /// address, and what was empty before.
  private func withSignIns(_ said: AccountRecord, as found: AccountRecord) -> AccountRecord {
    var later = said
    later.lastSignInAt = found.lastSignInAt
    if said.passwordHash != nil, found.passwordHash?.hasPrefix("$argon2id$") == true {
      later.passwordHash = found.passwordHash
    }
    (later.emailLink, later.customToken) = (found.emailLink, found.customToken)
    if said.displayName.isEmpty { later.displayName = found.displayName }
    if said.photoURL.isEmpty { later.photoURL = found.photoURL }
    // The provider of an identity fills in a missing address (S1).
    if said.emailAddress == nil, row.identities.contains(where: { $0.key.providerID == found.emailAddress?.source }) {
      later.emailAddress = found.emailAddress
    }
    if !said.emailVerified, later.email == found.email {
      later.emailAddress?.verification = found.emailAddress?.verification
      later.emailVerifiedAt = found.emailVerifiedAt
    }
    return later
  }

  /// Whether an account has as many passkeys as factors, under the ids of the row. Each use changes their content.
  private func hasPasskeyFactors(_ there: AccountState) -> Bool {
    let ids = there.factors.filter { $0.kind == .passkey }.map(\.id)
    return ids.count == row.passkeyFactors.count
      && row.passkeyFactors.allSatisfy { $0.id.map(ids.contains) ?? true }
  }
}

extension [String?] {
  fileprivate func sorted() -> [String] { compactMap(\.self).sorted() }
}

extension AccountState {
  /// Writes that create the account.
  var insertWrites: [Write] {
    [.account(.insert(account))] + identities.map { .identity(.insert($0)) } + factors.map { .factor(.insert($0)) }
  }
}
