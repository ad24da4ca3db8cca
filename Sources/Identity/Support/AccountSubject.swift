import Store

/// The user whom an administrator asks about.
package enum AccountSubject: Hashable, Sendable {
  case accountID(String)
  /// Normalised.
  case email(String)
  case phoneNumber(String)

  var query: Query {
    var query = Query()
    switch self {
    case .accountID(let id): query.accountID = id
    case .email(let email): query.email = email
    case .phoneNumber(let number): query.phoneNumber = number
    }
    return query
  }

  func account(in facts: Facts) -> AccountState? {
    switch self {
    case .accountID: facts.account
    case .email: facts.emailOwner
    case .phoneNumber: facts.phoneOwner
    }
  }

  /// What attempts of a user without an account name.
  var attempted: FailedAttempt.Subject? {
    switch self {
    case .accountID: nil
    case .email(let email): .email(email)
    case .phoneNumber(let number): .phoneNumber(number)
    }
  }
}

extension Environment {
  /// Returns the owners of the failures about an account: the account, and its addresses, which attempts name if they
  /// fail before the account is looked up.
  func failureOwners(_ state: AccountState?, id: String? = nil, _ subject: AccountSubject? = nil)
    -> [FailuresBefore.Owner]
  {
    var owners: [FailuresBefore.Owner] = []
    if let id = state?.account.id ?? id { owners.append(.account(id)) }
    var named = [state?.account.email.map { FailedAttempt.Subject.email($0) }]
    named += [state?.account.phoneNumber.map { .phoneNumber($0) }, subject?.attempted]
    for attempted in Set(named.compactMap(\.self)) {
      if let digest = failureSubject(attempted) { owners.append(.subject(digest)) }
    }
    return owners
  }
}

extension Facts {
  /// The failure of a call that names no account.
  func noAccount(field: String? = nil) -> Failure {
    let survivorID = closedAccount?.survivorID ?? ""
    return Failure(.accountNotFound, field: field, metadata: survivorID.isEmpty ? [:] : ["merged_into": survivorID])
  }
}
